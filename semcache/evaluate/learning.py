"""A stream asked day after day under several allowances: own evidence, the prior alone, none; and bare thresholds.

What is asked, stored and counted is `streams`' affair, what the evidence allows `evidence`'s.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from semcache.auditing.hits import would_be
from semcache.core import Hit
from semcache.decide.risk.evidence import Source
from semcache.evaluate.baselines.named import baseline
from semcache.evaluate.baselines.rule import Question
from semcache.evaluate.domains import AS_STATED, Variation
from semcache.evaluate.evidence import OwnEvidence
from semcache.evaluate.rig import Rig
from semcache.evaluate.rows import Labelled
from semcache.evaluate.streams import Course, Ours, in_order
from semcache.journey import Trace, to_serve

STATIC = ("static:0.85", "static:0.9", "static:0.95")


@dataclass(frozen=True, slots=True)
class LearnRun:
    """How learning is to be measured.

    Args:
        per_day: queries a day.
        passes: times that the file is asked, each time in another order.
        renew: each pass begins with nothing stored, as when all answers have outlived their time.
        budgets: greatest allowed wrong / hits, one run each; none: as the policy states.
    """

    per_day: int = 2000
    passes: int = 1
    renew: bool = False
    budgets: tuple[float, ...] = ()

    def variations(self) -> list[Variation]:
        """Give the policies to run under."""
        return [Variation(budget=budget) for budget in self.budgets] or [AS_STATED]


@dataclass(slots=True)
class Way:
    """One allowance's way: a record a pass."""

    name: str
    budget: float | None
    passes: list[dict[str, Any]] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """Give it for JSON; docs/evaluation.md explains the keys."""
        return {"way": self.name, "budget": self.budget, "passes": self.passes}


async def run_learning(
    rig: Rig,
    rows: Sequence[Labelled],
    learn: LearnRun,
    name: str,
    seed: int,
    limit: int,
    advance: Callable[[], None],
) -> list[Way]:
    """Ask the stream under every allowance, each in namespaces of its own.

    Raises:
        SemcacheError: a part of the cache failed.
        EncoderError: the encoder failed.
    """
    orders = [in_order(rows, seed + number, limit) for number in range(learn.passes)]
    ways: list[Way] = []
    for number, variation in enumerate(learn.variations()):
        for labelling, word in ((True, "own evidence"), (False, "prior alone")):
            evidence = OwnEvidence(rig.parts.prior, seed, learn.per_day, labelling=labelling)
            asker = _Learner(rig.under(evidence), f"{name}-{word[:3]}{number}", variation, evidence)
            ways.append(await _way(Way(word, variation.budget), asker, orders, learn, advance))
    asker = _Learner(rig, f"{name}-all", AS_STATED, None)
    ways.append(await _way(Way("unbounded", None), asker, orders, learn, advance))
    return ways + [await _static(rig, word, orders, learn) for word in STATIC]


async def _way(
    way: Way,
    asker: _Learner,
    orders: Sequence[Sequence[Labelled]],
    learn: LearnRun,
    advance: Callable[[], None],
) -> Way:
    for number, order in enumerate(orders):
        asker.begin(number, learn)
        for row in order:
            await asker.ask(row)
            advance()
        way.passes.append({**counts(asker.ours.course), "drafts": asker.ours.course.drafts, **asker.known()})
    await asker.rig.forget()
    return way


class _Learner:
    """Our own way through the passes, with what is learnt on it."""

    def __init__(self, rig: Rig, name: str, variation: Variation, evidence: OwnEvidence | None) -> None:
        self.rig = rig
        self.ours = Ours(rig, name, variation, self._heard)
        self._name = name
        self._evidence = evidence

    def begin(self, number: int, learn: LearnRun) -> None:
        """Begin a pass."""
        self.ours.course = Course()
        if learn.renew:
            self.ours.namespace = f"{self._name}-{number}"

    async def ask(self, row: Labelled) -> None:
        """Ask one question; time goes on."""
        await self.ours.ask(row)
        if self._evidence is not None:
            self._evidence.passed()

    def known(self) -> dict[str, Any]:
        """Say where each domain stands at the end of a pass."""
        if self._evidence is None:
            return {"domains": {}}
        told = {}
        for domain, book in sorted(self._evidence.books().items()):
            labels, wrong = book.counted(Source.AUDIT, Source.SHADOW)
            told[domain] = {
                "state": book.standing.state.value,
                "cut": book.standing.cut,
                "by_prior": book.standing.by_prior,
                "bound": round(book.standing.bound, 6),
                "labels": labels,
                "wrong_labels": wrong,
                "shadow_labels": book.counted(Source.SHADOW)[0],
                "shadow_wrong": book.counted(Source.SHADOW)[1],
                "would_be": book.counted(Source.SEEN)[0],
            }
        return {"domains": told}

    def _heard(self, trace: Trace, cls_of: Callable[[str], str | None], cls: str) -> None:
        hit = would_be(trace.decision)
        if hit is None or self._evidence is None:
            return
        served = isinstance(trace.decision, Hit) and to_serve(trace.decision, trace.policy) is not None
        self._evidence.hear(trace.policy, hit, served=served, wrong=cls_of(hit.entry.prompt) != cls)


async def _static(rig: Rig, word: str, orders: Sequence[Sequence[Labelled]], learn: LearnRun) -> Way:
    way, peer = Way(word, None), baseline(word).make(rig.peer_scale, random.Random(0))  # noqa: S311 - as in `streams`
    for order in orders:
        if learn.renew:
            peer = baseline(word).make(rig.peer_scale, random.Random(0))  # noqa: S311 - as above
        course = Course()
        for row in order:
            served = peer.ask(Question(await rig.embed_cut(row.text), row.cls))
            course.count(hit=served is not None, wrong=served not in (None, row.cls))
        # A bare threshold does not tell equal texts from near ones.
        way.passes.append({**counts(course), "exact": None})
    return way


def counts(course: Course) -> dict[str, Any]:
    """Give the counts of one pass; wrong per hit among the hits by meaning."""
    meant = course.hits - course.exact
    return {
        "n": course.n,
        "hits": course.hits,
        "exact": course.exact,
        "wrong": course.wrong,
        "wrong_per_meant_hit": course.wrong / meant if meant else None,
    }
