"""A tenant's own evidence while a stream is asked: labels arise as in service, the real bound says what they allow.

The one stand-in is the comparer: whoever knows the classes says whether an answer is right, and never errs. Time is
made of queries: so many a day. Knows no files and no requests.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from semcache.core import CachePolicy, Hit, RiskPolicy
from semcache.decide.decision import Serving
from semcache.decide.risk.evidence import Cell, Evidence, Source
from semcache.decide.risk.grid import BUCKET_SECONDS, bin_of, bucket_of
from semcache.decide.risk.prior import Prior
from semcache.decide.risk.rules import RiskRules
from semcache.decide.risk.standing import Standing, audit_share, stand
from semcache.standings import rules_of, serving_by

EVERY = 50
"""Queries between two looks at the evidence."""
_BEGIN = 20_000.0 * BUCKET_SECONDS

_Key = tuple[str, RiskPolicy]


@dataclass(slots=True)
class Book:
    """What is known of one domain: counts by (bin, bucket, source), audits a day, and the standing they give."""

    rules: RiskRules
    standing: Standing
    labels: Counter[tuple[int, int, Source]] = field(default_factory=Counter)
    wrong: Counter[tuple[int, int, Source]] = field(default_factory=Counter)
    audits: Counter[int] = field(default_factory=Counter)

    def cells(self) -> Evidence:
        """Give the counts as evidence."""
        return Evidence.of(Cell(*key, n, self.wrong[key]) for key, n in self.labels.items())

    def counted(self, *sources: Source) -> tuple[int, int]:
        """Give labels of these sources, and the wrong ones among them."""
        chosen = [key for key in self.labels if key[2] in sources]
        return sum(self.labels[key] for key in chosen), sum(self.wrong[key] for key in chosen)


class OwnEvidence:
    """An `Allowance` by labels that come on the way.

    Args:
        prior: the shipped calibration.
        seed: of the coin that says which hits are labelled.
        per_day: queries a day.
        labelling: False: no label ever comes, so that the prior alone speaks.
    """

    def __init__(self, prior: Prior | None, seed: int, per_day: int, *, labelling: bool = True) -> None:
        self._prior = prior
        self._coin = random.Random(seed)  # noqa: S311 - an experiment, repeatable by its seed
        self._step = BUCKET_SECONDS / per_day
        self._labelling = labelling
        self._queries = 0
        self._books: dict[_Key, Book] = {}

    async def serving(self, policy: CachePolicy) -> Serving:
        """Say what may be served; never raises."""
        return serving_by(self._book(policy).standing, policy)

    def passed(self) -> None:
        """Let the time of one query pass, and look at the evidence again when it is due."""
        self._queries += 1
        if self._queries % EVERY:
            return
        for book in self._books.values():
            book.standing = stand(book.cells(), book.rules, self._prior, self._now, book.standing)

    def hear(self, policy: CachePolicy, hit: Hit, *, served: bool, wrong: bool) -> None:
        """Take note of a hit or would-be hit by meaning: always counted, labelled by the coin."""
        if hit.exact or hit.score is None:
            return
        book, bin_, day = self._book(policy), bin_of(hit.score), bucket_of(self._now)
        book.labels[bin_, day, Source.SEEN] += 1
        due = self._coin.random() < audit_share(book.standing, book.rules)
        if not (due and self._labelling and policy.audit.enabled):
            return
        if served:
            # An audit is a call of its own; the answer for a would-be hit is there anyhow.
            if book.audits[day] >= policy.audit.max_calls:
                return
            book.audits[day] += 1
        key = bin_, day, Source.AUDIT if served else Source.SHADOW
        book.labels[key] += 1
        book.wrong[key] += wrong

    def books(self) -> dict[str, Book]:
        """Give what is known, by domain."""
        return {domain: book for (domain, _), book in self._books.items()}

    @property
    def _now(self) -> float:
        return _BEGIN + self._queries * self._step

    def _book(self, policy: CachePolicy) -> Book:
        key = policy.domain, policy.risk
        book = self._books.get(key)
        if book is None:
            rules = rules_of(policy.risk)
            book = self._books[key] = Book(rules, stand(Evidence.of(), rules, self._prior, self._now))
        return book
