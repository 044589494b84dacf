"""The whole analysis: files looked through, rows counted in one pass, asked again of the pipeline, worth and advice drawn.

Only asking again needs models; everything else is arithmetic on digests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

from semcache.advise.advice import advice_of
from semcache.advise.chains import chain_of
from semcache.advise.exact import ExactRepeats
from semcache.advise.findings import Findings, Reading
from semcache.advise.overlap import PrefixOverlap
from semcache.advise.pricing import Pricing
from semcache.advise.proposal import policy_text
from semcache.advise.reading import Logs, opened_logs
from semcache.advise.replay import ReplayOrder, replay_log
from semcache.advise.rows import LogRow, Watcher
from semcache.advise.sizes import SizeCount
from semcache.advise.spending import SpendingCount
from semcache.advise.worth import worth_of
from semcache.core import TenantId
from semcache.cost_port import LintFinding
from semcache.errors import SemcacheError
from semcache.linting.linter import Linter
from semcache.linting.prompt import prompt_of
from semcache.policy.snapshot import PolicySnapshot
from semcache.settings import Settings
from semcache.store.lint_shelf import added_up

NOTHING_READ = "nothing could be read"
_FINDINGS = 50
_PLACES = 5


@dataclass(frozen=True, slots=True)
class AnalysisOrder:
    """What is to be found out.

    Args:
        files: logs; `-` is standard input.
        snapshot, tenant: by whose policy.
        form: one of `forms.FORMATS`, or "": told by looking.
        limit: rows at most, from the front; 0: all.
        semantic: also ask the log again of the real pipeline, for about so many `minutes`.
        lint: also look for what keeps beginnings from being reused.
        seed: of the sample that is asked again.
        examples: hits by meaning of each domain whose questions may be told.
    """

    files: Sequence[Path]
    snapshot: PolicySnapshot
    tenant: TenantId
    form: str = ""
    limit: int = 0
    semantic: bool = True
    minutes: float = 5.0
    lint: bool = True
    seed: int = 0
    examples: int = 0


def analysed(
    settings: Callable[[], Settings], order: AnalysisOrder, pricing: Pricing, told: Watcher
) -> Findings:
    """Analyse.

    Args:
        settings: asked for when models are needed.
        order: of what, and how.
        pricing: prices rows.
        told: hears of stages.

    Raises:
        SemcacheError: no row could be read, or models are not there.
    """
    with opened_logs(order.files, told, form=order.form, limit=order.limit) as logs:
        if not logs.reading.rows:
            raise SemcacheError(_nothing(logs.reading))
        found = counted(logs, order, pricing, told)
        if order.semantic:
            replaying = ReplayOrder(order.snapshot, order.tenant, order.minutes, order.seed, order.examples)
            work = replay_log(settings(), replaying, partial(logs.rows, Watcher()), pricing.cost, told)
            found = replace(found, semantic=asyncio.run(work))
    return advised(found, order, pricing)


def advised(found: Findings, order: AnalysisOrder, pricing: Pricing) -> Findings:
    """Say what reuse is worth and what to do."""
    found = replace(found, worth=worth_of(found, order.snapshot, order.tenant, pricing.listed))
    found = replace(found, advice=advice_of(found))
    if found.advice is None:
        return found
    return replace(
        found, advice=replace(found.advice, policy=policy_text(found, order.snapshot, order.tenant))
    )


def _nothing(reading: Reading) -> str:
    """Say why there is no row: every file where there are few, else reasons and the first places."""
    lines = list(reading.examples)
    if reading.skipped > len(lines):
        counts = [f"{number} times: {reason}" for reason, number in reading.reasons]
        lines = [*counts, "first of all:", *lines[:_PLACES]]
    return "\n  ".join((NOTHING_READ, *lines))


def counted(logs: Logs, order: AnalysisOrder, pricing: Pricing, told: Watcher) -> Findings:
    """Make everything that needs no model, in one pass."""
    told.stage("counting", logs.reading.rows)
    spending, overlap, sizes = SpendingCount(), PrefixOverlap(), SizeCount()
    exact = ExactRepeats(order.snapshot, order.tenant)
    linting = _Linting(pricing) if order.lint else None
    for row in logs.rows(told):
        usage = pricing.usage(row)
        cost = pricing.cost(row, usage)
        spending.add(row, usage, cost, logged=pricing.from_log(row))
        chain = chain_of(row)
        sizes.prefix(chain, overlap.add(row, chain))
        sizes.answer(row, exact.add(row, usage, cost), usage)
        if linting is not None:
            linting.feed(row)
    return Findings(
        reading=logs.reading,
        spending=spending.findings(pricing.version),
        overlap=overlap.findings(),
        exact=exact.findings(),
        sizes=sizes.findings(),
        lint=None if linting is None else linting.findings(),
    )


class _Linting:
    """Feeds the linter, with what tokens cost more for not being read from a provider's cache."""

    def __init__(self, pricing: Pricing) -> None:
        self._linter = Linter()
        self._lost = lru_cache(1024)(pricing.lost)

    def feed(self, row: LogRow) -> None:
        price = self._lost(row.model)
        self._linter.feed(prompt_of(row.body), row.at or 0.0, row.tenant, row.model, row.labels, price)

    def findings(self) -> tuple[LintFinding, ...]:
        """Give what was found on all days together, most tokens lost first; `day` is the last one."""
        found = self._linter.findings()
        last = max((each.day for each in found), default=0)
        return added_up(replace(each, day=last) for each in found)[:_FINDINGS]
