"""Evidence on the way through a stream: who is labelled, what the bound makes of it, how passes follow each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from semcache.core import CachePolicy, Hit
from semcache.decide.risk.evidence import Source
from semcache.decide.risk.grid import BINS
from semcache.decide.risk.prior import Prior
from semcache.evaluate.evidence import EVERY, OwnEvidence
from semcache.evaluate.learning import LearnRun, run_learning
from semcache.evaluate.rig import Rig
from semcache.evaluate.rows import Labelled
from tests.decide.build import entry, policy
from tests.evaluate.scene import POLICY, rig
from tests.fakes.verifier import FakeVerifier

TRUSTED = Prior((0.0,) * (BINS - 1) + (5000.0,), (0.0,) * BINS)
LEARNING = POLICY.replace("enabled: false}, mode", "enabled: true, min_score: 0.5}, mode")


def hit(score: float | None, *, exact: bool = False) -> Hit:
    return Hit(entry(), exact=exact, similarity=0.95, score=score)


def hear(
    own: OwnEvidence, rules: CachePolicy, times: int, *, served: bool = False, wrong: bool = False
) -> None:
    for _ in range(times):
        own.hear(rules, hit(0.998), served=served, wrong=wrong)
        own.passed()


async def test_right_labels_of_what_is_held_back_open_a_domain() -> None:
    own, rules = OwnEvidence(None, 0, 10_000), policy()
    assert (await own.serving(rules)).cut is None
    hear(own, rules, 900)
    found = await own.serving(rules)
    assert (found.proven, found.cut) == (True, 0.9975)
    # All were labelled while nothing was served; from the proof on a share.
    (book,) = own.books().values()
    assert 542 <= book.counted(Source.SHADOW)[0] < 900 == book.counted(Source.SEEN)[0]


async def test_wrong_labels_shut_it() -> None:
    own, rules = OwnEvidence(None, 0, 10_000), policy()
    hear(own, rules, 900)
    hear(own, rules, 200, served=True, wrong=True)
    assert (await own.serving(rules)).cut is None


async def test_the_standing_is_looked_at_every_so_many_queries_only() -> None:
    own, rules = OwnEvidence(None, 0, 10_000), policy()
    await own.serving(rules)
    for _ in range(900):
        own.hear(rules, hit(0.998), served=False, wrong=False)
    for _ in range(EVERY - 1):
        own.passed()
    assert (await own.serving(rules)).cut is None
    own.passed()
    assert (await own.serving(rules)).cut == 0.9975


async def test_without_labels_the_prior_speaks_alone() -> None:
    own = OwnEvidence(TRUSTED, 0, 2000, labelling=False)
    rules = policy()
    rules = replace(rules, risk=replace(rules.risk, prior_hits=5000.0))
    hear(own, rules, 600, served=True, wrong=True)
    found = await own.serving(rules)
    assert (found.proven, found.cut) == (False, 0.9999)


def test_equal_texts_and_hits_without_a_score_are_no_evidence() -> None:
    own = OwnEvidence(None, 0, 2000)
    own.hear(policy(), hit(None), served=True, wrong=True)
    own.hear(policy(), hit(1.0, exact=True), served=True, wrong=True)
    assert not own.books()


def test_audits_are_bounded_by_the_day_s_calls_and_labels_that_cost_none_are_not() -> None:
    rules = policy()
    rules = replace(rules, audit=replace(rules.audit, max_calls=3))
    own = OwnEvidence(None, 0, 100)
    hear(own, rules, 200, served=True)
    hear(own, rules, 20)
    (book,) = own.books().values()
    assert (book.counted(Source.AUDIT)[0], book.counted(Source.SHADOW)[0]) == (6, 20)


QUESTIONS = [Labelled(f"Where is parcel {'abcdefgh'[i]} of mine?", f"c{i % 2}") for i in range(8)]


async def measured(
    folder: Path, says: float, near: float = 0.95, **how: Any
) -> tuple[dict[tuple[str, float | None], Any], int]:
    """Run eight questions, seven of which lie at one place, near the first; the threshold is 0.92."""
    cosines = {row.text: 1.0 if i == 0 else near for i, row in enumerate(QUESTIONS)}
    asked: list[None] = []
    async with rig(folder, cosines, LEARNING) as made:
        scripted = Rig(replace(made.parts, verifier=FakeVerifier(says=says)))  # type: ignore[arg-type]  # a scripted one
        ways = await run_learning(
            scripted, QUESTIONS, LearnRun(**how), "test", 1, 0, lambda: asked.append(None)
        )
    return {(way.name, way.budget): way.passes for way in ways}, len(asked)


async def test_every_allowance_goes_its_own_way_through_all_passes(tmp_path: Path) -> None:
    ways, asked = await measured(tmp_path, 0.9, passes=2, budgets=(0.01, 0.02))
    assert list(ways) == [
        ("own evidence", 0.01), ("prior alone", 0.01), ("own evidence", 0.02), ("prior alone", 0.02),
        ("unbounded", None), ("static:0.85", None), ("static:0.9", None), ("static:0.95", None),
    ]  # fmt: skip
    assert asked == 5 * 2 * 8
    assert all([one["n"] for one in passes] == [8, 8] for passes in ways.values())


@pytest.mark.parametrize(("says", "near", "learnt"), [(0.9, 0.95, True), (0.2, 0.95, False)])
async def test_what_only_evidence_holds_back_is_labelled(
    tmp_path: Path, says: float, near: float, learnt: bool
) -> None:
    ways, _ = await measured(tmp_path, says, near)
    ((own,), (prior,)) = ways["own evidence", None], ways["prior alone", None]
    assert own["hits"] == 0
    told = own["domains"].get("chat", {"labels": 0, "wrong_labels": 0})
    assert (told["labels"] > 0) == learnt
    assert told["labels"] >= told["wrong_labels"]
    assert not any(domain["labels"] for domain in prior["domains"].values())


async def test_entries_stay_unless_passes_begin_anew(tmp_path: Path) -> None:
    kept, _ = await measured(tmp_path, 0.2, passes=2)
    anew, _ = await measured(tmp_path, 0.2, passes=2, renew=True)
    assert [one["exact"] for one in kept["unbounded", None]] == [0, 8]
    assert [one["exact"] for one in anew["unbounded", None]] == [0, 0]
