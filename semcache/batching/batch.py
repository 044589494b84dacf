"""A whole batch: read, sorted, sent by several at a time, written down as answers come, put back into order.

Running it again after an interruption sends what is not answered yet. Knows no screen.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from semcache.batching.journal import Journal, name_of
from semcache.batching.lines import Item, Mistake, read_items, read_request
from semcache.batching.schedule import Schedule
from semcache.batching.sending import Answer, Sender, StoppedError, line_of
from semcache.errors import SemcacheError

_DEAD = 4


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done.

    Args:
        file, out: batch, and where its answers go.
        model: for requests that name none.
        by_prefix: sort by common beginnings.
        at_once: requests under way at most.
    """

    file: Path
    out: Path
    model: str = ""
    by_prefix: bool = True
    at_once: int = 8


@dataclass
class Score:
    """What came of it so far."""

    total: int = 0
    resumed: int = 0
    good: int = 0
    refused: int = 0
    failed: int = 0
    mistakes: list[Mistake] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    input: int = 0
    cached: int = 0
    output: int = 0

    def count(self, answer: Answer) -> None:
        """Count one answer."""
        if answer.is_good:
            self.good += 1
        elif answer.is_final:
            self.refused += 1
        else:
            self.failed += 1
        if answer.outcome:
            self.outcomes[answer.outcome] += 1
        if answer.usage is not None:
            self.input += answer.usage.prompt_tokens
            self.cached += answer.usage.cached_tokens
            self.output += answer.usage.completion_tokens


class Watcher:
    """Hears how far a batch is; this one does not care."""

    def reading(self, bytes_read: int) -> None:
        """The file is being read."""

    def begins(self, score: Score) -> None:
        """So many requests are to be sent."""

    def answered(self, score: Score) -> None:
        """One more has its answer."""


async def run_batch(order: Order, sender: Sender, watcher: Watcher) -> Score:
    """Send a batch; gives what came of it, once everything is written.

    Raises:
        SemcacheError: the file cannot be read or the output not written; `StoppedError`: the server answers nobody.
            Whatever was answered before is kept.
    """
    items, score = _read(order, watcher)
    part = order.out.with_name(order.out.name + ".part")
    journal = Journal(part, name_of(order.file, order.model))
    journal.open()
    try:
        left = [item for item in items if item.index not in journal.places]
        score.resumed = len(items) - len(left)
        watcher.begins(score)
        unanswered = await _send_all(order, sender, journal, left, score, watcher)
        others = {
            m.index: line_of(m.custom_id, m.line, None, "invalid_line", m.message) for m in score.mistakes
        }
        journal.finish(order.out, range(score.total), {**others, **unanswered})
    except BaseException:
        journal.close(remove=False)
        raise
    journal.close(remove=not unanswered)
    return score


def _read(order: Order, watcher: Watcher) -> tuple[list[Item], Score]:
    score, items = Score(), list[Item]()
    for found in read_items(order.file, order.model, watcher.reading):
        score.total += 1
        if isinstance(found, Mistake):
            score.mistakes.append(found)
        else:
            items.append(found)
    if not items:
        why = f": {score.mistakes[0].message}" if score.mistakes else ""
        raise SemcacheError(f"{order.file} holds no request{why}")
    return items, score


async def _send_all(
    order: Order, sender: Sender, journal: Journal, items: list[Item], score: Score, watcher: Watcher
) -> dict[int, dict[str, object]]:
    """Send everything; gives the lines of requests without an answer, by index."""
    schedule = Schedule(items, by_prefix=order.by_prefix, leaders=max(2, order.at_once // 4))
    unanswered: dict[int, dict[str, object]] = {}
    running: dict[asyncio.Task[Answer], Item] = {}
    with order.file.open("rb") as stream:
        try:
            while running or not schedule.is_empty:
                _fill(order, sender, schedule, running, stream)
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    item, answer = running.pop(task), task.result()
                    schedule.done(item, answered=answer.is_good)
                    if answer.is_final:
                        journal.put(item.index, answer.line)
                    else:
                        unanswered[item.index] = dict(answer.line)
                        _stop_if_dead(order, score, unanswered)
                    score.count(answer)
                    watcher.answered(score)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
    return unanswered


def _stop_if_dead(order: Order, score: Score, unanswered: Mapping[int, object]) -> None:
    """Stop where nobody ever answered.

    Raises:
        StoppedError: as many requests as are under way at a time, and more, failed, and none was answered.
    """
    if not score.good and not score.refused and len(unanswered) > max(order.at_once, _DEAD):
        raise StoppedError(
            f"{len(unanswered)} requests failed and none was answered: does a server stand at the --url? "
            "Run the same command again to go on"
        )


def _fill(
    order: Order,
    sender: Sender,
    schedule: Schedule,
    running: dict[asyncio.Task[Answer], Item],
    stream: BinaryIO,
) -> None:
    while len(running) < order.at_once and (item := schedule.take()) is not None:
        request = read_request(stream, item, order.model)
        running[asyncio.ensure_future(sender.send(item, request))] = item
