"""Attacks that landed on a victim's vector, asked again of the decision: near enough each, and none is served.

The texts were found by `scripts/bench/collisions.py`, which measures how many come through; each was served before the rule that
stops it. Their similarities are kept beside them, so that no encoder is needed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from semcache.core import CachePolicy, Directives, Effect, GateRules, Hit, TenantId
from semcache.decide.decision import Candidate, decide
from semcache.decide.verify.verifier import ForestVerifier, open_verifier
from semcache.policy.loader import load_default
from tests.decide.build import NOW, entry

_CORPUS = Path(__file__).parent / "corpus" / "collisions.jsonl"
ATTACKS = [json.loads(line) for line in _CORPUS.read_text(encoding="utf-8").splitlines()]
ASKED = (
    ("How do I reset my password?", "how can i reset my password"),
    ("How do I reset my password?", "I forgot it again. How do I reset my password?"),
    ("What is the capital of France?", "What's the capital of France, please?"),
    ("怎么修改收货地址？", "请问如何修改收货地址，谢谢"),
)


@pytest.fixture(scope="module")
def verifier() -> ForestVerifier:
    return open_verifier()


@pytest.fixture(scope="module")
def policy() -> CachePolicy:
    """The loosest domain that ships."""
    return load_default().by_tenant[TenantId("default")].domains["chat"]


def is_served(policy: CachePolicy, verifier: ForestVerifier, stored: str, asked: str, near: float) -> bool:
    held = Candidate(entry("e", tenant=policy.tenant, prompt=stored, created_at=NOW), near)
    return isinstance(decide(policy, Directives(), asked, [held], NOW, verifier), Hit)


def test_no_attack_that_once_landed_is_served(policy: CachePolicy, verifier: ForestVerifier) -> None:
    served = [
        attack["attack"]
        for attack in ATTACKS
        if is_served(policy, verifier, attack["attack"], attack["victim"], attack["similarity"])
    ]
    assert served == []


def test_nor_the_other_way_round(policy: CachePolicy, verifier: ForestVerifier) -> None:
    """A question that wants more than was asked before gets no answer that leaves it out."""
    for attack in ATTACKS:
        assert not is_served(policy, verifier, attack["victim"], attack["attack"], attack["similarity"])


def test_each_is_near_enough_for_a_cache_with_a_threshold_alone(policy: CachePolicy) -> None:
    bare = replace(policy, gate=GateRules.all(Effect.OFF), verifier=False, threshold=0.70)
    near = [attack for attack in ATTACKS if attack["similarity"] >= bare.threshold]
    assert len(near) == len(ATTACKS) > 100


@pytest.mark.parametrize(("stored", "asked"), ASKED)
def test_honest_rewordings_beside_them_are_served(
    policy: CachePolicy, verifier: ForestVerifier, stored: str, asked: str
) -> None:
    assert is_served(policy, verifier, stored, asked, 0.97)
