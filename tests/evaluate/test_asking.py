"""A row becomes the request that a client would send."""

from __future__ import annotations

from pathlib import Path

import pytest

from semcache.core import Scope
from semcache.errors import SemcacheError
from semcache.evaluate.asking import ask_of, model_for
from semcache.evaluate.pairs import Kind, PairRun, run_pairs
from tests.evaluate.scene import ACME, POLICY, pair, policy, question, rig


def test_conversation_system_prompt_and_namespace_are_the_clients() -> None:
    history = (
        {"role": "system", "content": "Be brief."},
        *question("Hi"),
        {"role": "assistant", "content": "Hi!"},
    )
    asked = ask_of((*history, *question("How?")), ACME, "m", "file0.7")
    assert (asked.request.prompt, asked.request.system, asked.request.message_count) == (
        "How?",
        "Be brief.",
        4,
    )
    assert (asked.request.model, asked.request.temperature, asked.request.stream) == ("m", 0.0, False)
    assert (asked.caller.tenant, asked.directives.namespace, asked.raw_body) == (ACME, "file0.7", None)


def test_what_is_no_request_is_told_by_its_place() -> None:
    with pytest.raises(SemcacheError, match=r"file0\.7: is no chat request"):
        ask_of((), ACME, "m", "file0.7")


@pytest.mark.parametrize(
    ("models", "asked"),
    [
        ("", "eval"),
        ("models: ['gpt-5*', local]", "gpt-5"),
        ("models: [local]", "local"),
        ("models: ['*']", "eval"),
    ],
)
def test_a_model_that_the_tenant_may_ask_for(tmp_path: Path, models: str, asked: str) -> None:
    snapshot = policy(tmp_path, f"{POLICY}\n{models}\n")
    assert model_for(snapshot.tenant(ACME)) == asked
    assert snapshot.allows_model(ACME, asked)


async def test_answers_of_each_user_alone_are_measured_too(tmp_path: Path) -> None:
    text = POLICY.replace("mode: semantic}", "mode: semantic, scope: user}")
    async with rig(tmp_path, {}, text) as made:
        assert made.parts.snapshot.tenant(ACME).domains["chat"].scope is Scope.USER
        (seen,) = await run_pairs(made, [pair("How?", "How?")], PairRun("test"), lambda: None)
    assert seen.kind is Kind.EXACT


async def test_a_closed_policy_serves_nothing_and_says_why(tmp_path: Path) -> None:
    async with rig(tmp_path, {}, POLICY.replace("mode: exact", 'mode: "off"')) as made:
        (seen,) = await run_pairs(made, [pair("How?", "How?", domain="code")], PairRun("test"), lambda: None)
    assert (seen.kind, seen.reason) == (Kind.BYPASS, "policy-off")


async def test_a_policy_in_shadow_mode_is_measured_as_if_it_served(tmp_path: Path) -> None:
    async with rig(tmp_path, {}, POLICY.replace("mode: semantic}", "mode: shadow}")) as made:
        (seen,) = await run_pairs(made, [pair("How?", "How?")], PairRun("test"), lambda: None)
    assert seen.kind is Kind.EXACT
