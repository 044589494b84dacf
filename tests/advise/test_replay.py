"""A log asked again: hits, lifetimes by the log's clock, owners apart, answers compared, and what cannot be asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from semcache.advise.findings import DomainReplay, Semantic
from semcache.advise.replay import LogClock, ReplayOrder, replay
from semcache.advise.rows import LogRow, Watcher
from semcache.decide.risk.grid import BINS
from semcache.decide.risk.prior import Prior
from semcache.evaluate.rig import Rig, assembled
from semcache.records import Usage
from tests.evaluate.scene import ACME, POLICY, direction, policy
from tests.fakes.encoder import FakeEncoder

HOUR = 3_600.0
BEGIN = 1.7e9
SURE = Prior((0.0,) * (BINS - 1) + (50_000.0,), (0.0,) * BINS)
"""A calibration that has only ever seen right answers, at the highest scores."""
NEAR = {
    "How do I reset my password?": 1.0,
    "How can I reset my password?": 0.95,
    "Where is Oslo?": 0.1,
    "Who was Ada?": -0.4,
}
ASKED, AGAIN, OTHER, FOURTH = NEAR


def row(
    text: str, hours: float | None = 0.0, response: str | None = "Press the button.", **more: Any
) -> LogRow:
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": text}],
        "temperature": 0,
        **more.pop("body", {}),
    }
    given = {"model": "m", "usage": Usage(100, 20), "seconds": 2.0, **more}
    return LogRow(
        body, "log", 1, at=None if hours is None else BEGIN + hours * HOUR, response=response, **given
    )


@asynccontextmanager
async def rigged(
    folder: Path, cosines: Mapping[str, float] = NEAR, text: str = POLICY
) -> AsyncIterator[tuple[Rig, LogClock]]:
    clock = LogClock()
    encoder = FakeEncoder(vectors={text: direction(cosine) for text, cosine in cosines.items()})
    async with assembled(encoder, policy(folder, text), ACME, prior=SURE, clock=clock) as rig:
        yield rig, clock


def price(_row: LogRow, usage: Usage) -> int | None:
    return usage.prompt_tokens + 10 * usage.completion_tokens


async def replayed(folder: Path, rows: Sequence[LogRow], **options: Any) -> Semantic:
    minutes = options.pop("minutes", 5.0)
    priced = options.pop("price", price)
    told = options.pop("told", Watcher())
    examples = options.pop("examples", 0)
    async with rigged(folder, **options) as (rig, clock):
        order = ReplayOrder(rig.parts.snapshot, ACME, minutes, examples=examples)
        return await replay(rig, clock, order, lambda: iter(rows), priced, told)


def chat(found: Semantic) -> DomainReplay:
    (domain,) = found.domains
    return domain


async def test_repeats_and_neighbours_are_served_and_the_rest_is_stored(tmp_path: Path) -> None:
    found = await replayed(tmp_path, [row(ASKED), row(OTHER), row(ASKED), row(AGAIN)])
    domain = chat(found)
    assert (domain.exact, domain.semantic, domain.requests) == (1, 1, 4)
    assert sum(dict(domain.reasons).values()) + domain.drafts == 2
    assert not found.sampled
    assert found.hit_interval is None
    # Two hits, each of 100 + 10 x 20 micro-USD.
    assert (domain.saved_cost, domain.saved_by_exact) == (600, 300)
    assert 3.0 < domain.saved_seconds < 4.0
    assert (domain.saved_input, domain.saved_output) == (200, 40)


async def test_answers_die_by_the_logs_clock(tmp_path: Path) -> None:
    """The policy lets them live an hour."""
    found = await replayed(
        tmp_path, [row(ASKED), row(ASKED, 0.5), row(AGAIN, 0.6), row(ASKED, 5), row(AGAIN, 5.1)]
    )
    assert (chat(found).exact, chat(found).semantic) == (1, 2)


async def test_without_times_nothing_grows_old_and_it_says_so(tmp_path: Path) -> None:
    found = await replayed(tmp_path, [row(ASKED, None), row(ASKED, None)])
    assert found.exact == 1
    assert any("No request has a time" in note for note in found.notes)


async def test_owners_of_a_log_share_nothing(tmp_path: Path) -> None:
    rows = [row(ASKED, tenant="one"), row(ASKED, tenant="two"), row(ASKED, tenant="one")]
    assert (await replayed(tmp_path, rows)).exact == 1


async def test_answers_of_hits_are_held_against_those_that_the_model_gave(tmp_path: Path) -> None:
    right, wrong = "It costs 10 dollars.", "It costs 99 dollars."
    rows = [
        row(ASKED, response=right),
        row(AGAIN, response=right),
        row(AGAIN, 0.1, response=wrong),
        row(ASKED, 0.2, right),
    ]
    domain = chat(await replayed(tmp_path, rows))
    assert (domain.semantic, domain.exact) == (2, 1)
    assert (domain.compared, domain.repeated) == ((1, 1, 0), (1, 0, 0))
    assert domain.wrong_method == "compared"
    assert domain.wrong_interval is not None
    low, high = domain.wrong_interval
    assert low < 1.0 < high


async def test_without_answers_and_without_scores_wrong_hits_are_not_known(tmp_path: Path) -> None:
    """The scene's policy has no verifier, so that no hit has a score."""
    domain = chat(await replayed(tmp_path, [row(ASKED, response=None), row(AGAIN, response=None)]))
    assert domain.semantic == 1
    assert (domain.wrong, domain.wrong_interval, domain.wrong_method) == (None, None, "unknown")


async def test_what_failed_is_not_stored_and_calls_of_tools_are_not_either(tmp_path: Path) -> None:
    tools = {"tools": [{"type": "function", "function": {"name": "f"}}]}
    rows = [
        row(ASKED, failed=True, response=None),
        row(ASKED),
        row(OTHER, response=None, body=tools),
        row(OTHER, body=tools),
    ]
    assert (await replayed(tmp_path, rows)).hits == 0


async def test_what_no_proxy_takes_is_left_out_and_counted(tmp_path: Path) -> None:
    rows = [
        row(ASKED),
        replace(row(ASKED), body={"model": "m", "messages": []}),
        row("\ud800 half"),
        row(ASKED),
    ]
    found = await replayed(tmp_path, rows)
    assert found.exact == 1
    assert found.requests == 3
    assert dict(chat(found).reasons)["unencodable"] == 1
    assert any(note.startswith("1 requests are none") for note in found.notes)


async def test_unpriced_hits_are_counted_and_have_no_part_in_money(tmp_path: Path) -> None:
    domain = chat(await replayed(tmp_path, [row(ASKED), row(ASKED)], price=lambda *_: None))
    assert (domain.saved_cost, domain.unpriced) == (0, 1)


async def test_no_rows_and_one_row(tmp_path: Path) -> None:
    none = await replayed(tmp_path, [])
    assert (none.requests, none.domains, none.wrong, none.wrong_method) == (0, (), None, "unknown")
    one = await replayed(tmp_path, [row(ASKED)])
    assert (one.requests, one.hits, one.of) == (1, 0, 1)


async def test_places_that_see_one_question_need_no_vectors(tmp_path: Path) -> None:
    """System prompts that all differ: nothing can be met, so nothing is embedded, but repeats are found."""
    turns = [{"role": "system", "content": f"It is {number} o'clock."} for number in range(6)]
    rows = [
        row(ASKED, body={"messages": [turn, {"role": "user", "content": ASKED}]})
        for turn in turns
        for _ in range(2)
    ]
    found = await replayed(tmp_path, rows)
    assert (found.exact, found.semantic, found.embedded) == (6, 0, 0)
    assert dict(chat(found).reasons) == {"empty-namespace": 6}


async def test_what_is_never_matched_by_meaning_needs_no_vectors_either(tmp_path: Path) -> None:
    warm = {"temperature": 1.5}
    found = await replayed(tmp_path, [row(text, body=warm) for text in (ASKED, AGAIN, ASKED)])
    assert (found.embedded, found.hits, dict(chat(found).reasons)) == (0, 0, {"temperature": 3})
    exact = POLICY.replace("chat: {", "chat: {mode: exact, ")
    found = await replayed(tmp_path, [row(text) for text in (ASKED, AGAIN, ASKED)], text=exact)
    assert (found.embedded, found.exact, found.semantic) == (0, 1, 0)
    assert dict(chat(found).reasons) == {"exact-only": 2}


async def test_time_that_is_up_ends_a_replay_and_it_says_how_sure_it_is(tmp_path: Path) -> None:
    rows = [row(f"{ASKED} {number}", number / 1000) for number in range(3_000)]
    found = await replayed(tmp_path, rows, minutes=0.0)
    assert found.sampled
    assert 0 < found.requests < 3_000 == found.of
    assert found.sample.startswith("the first ")
    # The front of a log is asked from an empty cache: it says what is served at least.
    assert found.hit_interval is not None
    assert found.hit_interval[0] < found.hit_interval[1] == 1.0


async def test_hits_that_only_the_evidence_stands_against_are_counted_apart(tmp_path: Path) -> None:
    closed = POLICY.replace("mode: semantic}", "mode: semantic, risk: {until_proven: shadow}}")
    domain = chat(await replayed(tmp_path, [row(ASKED), row(AGAIN)], text=closed))
    assert (domain.semantic, domain.would_be, domain.held_back) == (0, 1, "shadow")


async def test_questions_are_told_only_where_somebody_asked_for_them(tmp_path: Path) -> None:
    rows = [row(ASKED), row(AGAIN), row(ASKED)]
    assert (await replayed(tmp_path, rows)).examples == ()
    assert (await replayed(tmp_path, rows, examples=3)).examples == (f"{AGAIN} <- {ASKED}",)


async def test_progress_reaches_the_end(tmp_path: Path) -> None:
    class Told(Watcher):
        def __init__(self) -> None:
            self.stages: list[tuple[str, int]] = []
            self.steps = 0

        def stage(self, name: str, total: int) -> None:
            self.stages.append((name, total))
            self.steps = 0

        def advance(self, steps: int = 1) -> None:
            self.steps += steps

    told = Told()
    await replayed(tmp_path, [row(ASKED)] * 200, told=told)
    assert told.stages == [("looking", 0), ("replaying", 200)]
    assert 192 <= told.steps <= 200


async def test_the_log_never_turns_the_clock_back() -> None:
    clock = LogClock()
    for at in (5.0, 3.0, None, 9.0):
        clock.set(at)
    assert clock.now() == 9.0
