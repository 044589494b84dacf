"""A stream of questions with classes, in random order, in one namespace: what is not served is stored.

A hit is wrong when the served entry was stored for a question of another class. Classes are often
coarser than answers (an intent may have many), so that right hits are an upper bound.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from semcache.core import Hit
from semcache.evaluate.asking import ask_of, model_for
from semcache.evaluate.baselines.rule import Peer, Question
from semcache.evaluate.domains import AS_STATED, Variation
from semcache.evaluate.pairs import Kind, kind_of
from semcache.evaluate.rig import Rig
from semcache.evaluate.rows import Labelled
from semcache.journey import Trace

_POINTS = 200

Heard = Callable[[Trace, Callable[[str], str | None], str], None]


@dataclass(slots=True)
class Course:
    """One judge's way through a stream: counts so far, and points (queries, hits, wrong hits) on the way."""

    n: int = 0
    hits: int = 0
    wrong: int = 0
    exact: int = 0
    drafts: int = 0
    curve: list[tuple[int, int, int]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def count(self, *, hit: bool, wrong: bool) -> None:
        """Count one query."""
        self.n += 1
        self.hits += hit
        self.wrong += wrong

    def mark(self) -> None:
        """Put a point on the curve."""
        if not self.curve or self.curve[-1][0] != self.n:
            self.curve.append((self.n, self.hits, self.wrong))


@dataclass(frozen=True, slots=True)
class StreamRun:
    """How a stream is to be run.

    Args:
        name: the namespace, which no other run may use.
        peers: make the baselines.
        seed: of the order, and of what baselines leave to chance.
        limit: queries taken from the front of the shuffled stream; 0: all.
    """

    name: str
    peers: Sequence[Callable[[random.Random], Peer]] = ()
    seed: int = 0
    limit: int = 0


def in_order(rows: Sequence[Labelled], seed: int, limit: int) -> list[Labelled]:
    """Shuffle by the seed, then take what is asked for."""
    order = list(rows)
    random.Random(seed).shuffle(order)  # noqa: S311 - an experiment, repeatable by its seed
    return order[:limit] if limit else order


async def run_stream(
    rig: Rig, rows: Sequence[Labelled], run: StreamRun, advance: Callable[[], None]
) -> list[Course]:
    """Ask all questions one after the other; gives our course, then each baseline's.

    Raises:
        SemcacheError: a part of the cache failed.
        EncoderError: the encoder failed.
    """
    order = in_order(rows, run.seed, run.limit)
    step = max(1, len(order) // _POINTS)
    ours = Ours(rig, run.name)
    peers = [(make(random.Random(run.seed)), Course()) for make in run.peers]  # noqa: S311 - as above
    courses = [ours.course, *(course for _, course in peers)]
    for number, row in enumerate(order, 1):
        prompt = await ours.ask(row)
        if peers:
            embedding = await rig.embed_cut(prompt)
            for peer, course in peers:
                served = peer.ask(Question(embedding, row.cls))
                course.count(hit=served is not None, wrong=served not in (None, row.cls))
        if number % step == 0 or number == len(order):
            for course in courses:
                course.mark()
        advance()
    await rig.forget()
    return courses


def _nothing(_trace: Trace, _cls_of: Callable[[str], str | None], _cls: str) -> None:
    """Take no note of a decision."""


class Ours:
    """The product's own way through a stream.

    Args:
        rig: is asked.
        namespace: where answers are stored; may be changed on the way.
        variation: what is to be otherwise than the policy states.
        heard: hears of each decision, with what gives the class of a stored question, and the asked one's class.
    """

    def __init__(
        self, rig: Rig, namespace: str, variation: Variation = AS_STATED, heard: Heard = _nothing
    ) -> None:
        self._rig = rig
        self.namespace = namespace
        self._variation = variation
        self._heard = heard
        self._tenant = rig.parts.tenant
        self._model = model_for(rig.parts.snapshot.tenant(self._tenant))
        self._stored: dict[str, str] = {}
        self.course = Course()

    async def ask(self, row: Labelled) -> str:
        """Ask one question, count what came of it, give its text."""
        asked = ask_of(({"role": "user", "content": row.text},), self._tenant, self._model, self.namespace)
        await self._rig.embed(row.text)
        timed = await self._rig.ask(self._rig.pipeline(row.domain, self._variation), asked)
        decision, kind, course = timed.decision, kind_of(timed.decision), self.course
        wrong = isinstance(decision, Hit) and self._stored.get(decision.entry.prompt) != row.cls
        course.count(hit=kind.is_served, wrong=wrong)
        course.exact += kind is Kind.EXACT
        course.drafts += kind is Kind.DRAFT
        course.seconds.append(timed.seconds)
        course.cpu.append(timed.cpu)
        self._heard(timed.trace, self._stored.get, row.cls)
        if timed.trace.stored:
            self._stored[row.text] = row.cls
        return row.text
