"""Pairs through the real pipeline, index and store; only vectors are chosen and answers constant."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from semcache.core import Bypass, Draft, Hit, Miss
from semcache.errors import EncoderError, SemcacheError
from semcache.evaluate.baselines.named import baseline
from semcache.evaluate.domains import Variation
from semcache.evaluate.pairs import AT_ONCE, Kind, PairRun, kind_of, reason_of, run_pairs
from semcache.evaluate.rig import Rig
from semcache.evaluate.rows import Pair
from tests.evaluate.scene import pair, question, rig

COSINES = {
    "How do I open the gate?": 1.0,
    "How can I open the gate?": 0.95,
    "How may I open the gate?": 0.85,
    "How do I paint the gate?": 0.3,
    "Is a run of 5 km long?": 1.0,
    "Is a run of 8 km long?": 0.99,
}


async def judged(made: Rig, *pairs: Pair, run: PairRun | None = None) -> list[tuple[Kind, str]]:
    seen = await run_pairs(made, pairs, run or PairRun("test"), lambda: None)
    return [(one.kind, one.reason) for one in seen]


async def test_every_way_a_pair_can_go(tmp_path: Path) -> None:
    async with rig(tmp_path, COSINES) as made:
        seen = await run_pairs(
            made,
            [
                pair("How do I open the gate?", "how do i open the gate"),
                pair("How do I open the gate?", "How do I open the gate?"),
                pair("How do I open the gate?", "How can I open the gate?"),
                pair("How do I open the gate?", "How may I open the gate?"),
                pair("How do I open the gate?", "How do I paint the gate?", same=False),
                pair("Is a run of 5 km long?", "Is a run of 8 km long?", same=False, domain="medical"),
                pair("How do I open the gate?", "How can I open the gate?", domain="medical"),
                pair("How do I open the gate?", "How can I open the gate?", domain="coding"),
            ],
            PairRun("test"),
            lambda: None,
        )
    assert [(one.kind, one.reason, one.vetoes) for one in seen[1:]] == [
        (Kind.EXACT, "", ()),
        (Kind.SEMANTIC, "", ()),
        (Kind.DRAFT, "", ()),
        (Kind.MISS, "below-threshold", ()),
        (Kind.MISS, "gate", ("numbers",)),
        (Kind.MISS, "below-threshold", ()),
        (Kind.MISS, "exact-only", ()),
    ]
    assert all(one.cpu > 0 and 0 < one.seconds < 5 for one in seen)


async def test_pairs_do_not_see_each_other(tmp_path: Path) -> None:
    """More pairs than are stored at once: what one stored is never served to another."""
    lonely = pair("How do I paint the gate?", "How do I open the gate?", same=False)
    others = [pair("How do I open the gate?", "How can I open the gate?")] * (AT_ONCE + 3)
    async with rig(tmp_path, COSINES) as made:
        kinds = await judged(made, *others, lonely, *others)
        assert kinds.count((Kind.SEMANTIC, "")) == 2 * len(others)
        assert kinds[len(others)] == (Kind.MISS, "below-threshold")
        again = await judged(made, lonely, run=PairRun("other"))
        assert again == [(Kind.MISS, "below-threshold")]


async def test_conversations_keep_system_prompt_and_history(tmp_path: Path) -> None:
    asked = question("How do I open the gate?")
    reworded = question("How can I open the gate?")
    brief = ({"role": "system", "content": "Be brief."},)
    history = (*question("Hello"), {"role": "assistant", "content": "Hi!"})
    programmer = ({"role": "system", "content": "You are a programmer."},)
    async with rig(tmp_path, COSINES) as made:
        kinds = await judged(
            made,
            Pair((*brief, *asked), (*brief, *reworded), True),
            Pair((*history, *asked), (*history, *reworded), True),
            Pair((*brief, *asked), reworded, False),
            # By the policy's own rule, since the row names no domain.
            Pair((*programmer, *asked), (*programmer, *reworded), True),
            Pair((*programmer, *asked), (*programmer, *reworded), True, domain="chat"),
        )
    assert [kind.is_served for kind, _ in kinds] == [True, True, False, False, True]
    assert kinds[3][1] == "exact-only"


async def test_baselines_and_sweeps_stand_beside(tmp_path: Path) -> None:
    pairs = [
        pair("How do I open the gate?", "How may I open the gate?"),
        pair("Is a run of 5 km long?", "Is a run of 8 km long?", same=False),
        pair("How do I open the gate?", " \n"),
    ]
    async with rig(tmp_path, COSINES) as made:
        makers = [
            partial(baseline(name).make, made.peer_scale)
            for name in ("static:0.9", "gptcache", "vcache:0.02")
        ]
        seen = await run_pairs(
            made, pairs, PairRun("test", makers, tuple(Variation(at) for at in (0.5, 0.8, 0.9))), lambda: None
        )
    assert [one.peers for one in seen] == [(False, True, False), (True, True, False), (False, False, False)]
    assert [one.swept for one in seen] == [(True, True, False), (False, False, False), (False, False, False)]
    assert seen[0].similarity == pytest.approx(0.85, abs=1e-5)
    assert seen[2].similarity is None


async def test_long_texts_are_cut_for_peers_and_refused_for_us(tmp_path: Path) -> None:
    long = "word " * 400
    async with rig(tmp_path, {}) as made:
        makers = [partial(baseline("static:0.9").make, made.peer_scale)]
        (seen,) = await run_pairs(
            made, [pair(long + "one", long + "two")], PairRun("t", makers), lambda: None
        )
    assert not seen.kind.is_served
    assert seen.peers == (True,)


async def test_a_failing_part_ends_the_measurement_instead_of_counting_as_misses(tmp_path: Path) -> None:
    async with rig(tmp_path, COSINES) as made:
        made.parts.encoder.fault = EncoderError("broken on purpose", kind="late")  # type: ignore[attr-defined] # the fake's switch
        with pytest.raises(SemcacheError, match=r"encoder:late"):
            await judged(made, pair("How do I open the gate?", "How can I open the gate?"))


async def test_a_defect_in_storing_ends_the_measurement_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig(tmp_path, COSINES) as made:

        def broken(_: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(made.parts.store, "put", broken)
        with pytest.raises(SemcacheError, match=r"a defect, so nothing was measured: .*ZeroDivisionError"):
            await judged(made, pair("How do I open the gate?", "How can I open the gate?"))


async def test_progress_is_told_for_every_pair(tmp_path: Path) -> None:
    told: list[None] = []
    async with rig(tmp_path, COSINES) as made:
        pairs = [pair("How do I open the gate?", "How can I open the gate?")] * 11
        await run_pairs(made, pairs, PairRun("test"), lambda: told.append(None))
    assert len(told) == 11


def test_decisions_in_words() -> None:
    entry: object = object()
    cases = {
        Kind.EXACT: Hit(entry, exact=True, similarity=1.0),  # type: ignore[arg-type] # any entry
        Kind.SEMANTIC: Hit(entry, exact=False, similarity=0.9),  # type: ignore[arg-type] # any entry
        Kind.DRAFT: Draft(entry, 0.9, ("numbers",)),  # type: ignore[arg-type] # any entry
        Kind.MISS: Miss("gate"),
        Kind.BYPASS: Bypass("policy-off"),
    }
    assert {kind: kind_of(decision) for kind, decision in cases.items()} == {kind: kind for kind in cases}
    assert [reason_of(decision) for decision in cases.values()] == ["", "", "", "gate", "policy-off"]
