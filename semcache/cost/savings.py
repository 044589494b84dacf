"""What a request cost, and what reuse saved: by the cache of answers, the provider's prompt cache, the engine's prefixes.

Pure. Each token is in one saving at most: those of this request's own calls in the provider's or the engine's, those of the
call that was not made in the cache's. A price that is not known makes money None, never 0. Knows neither store nor files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from semcache.core import Outcome, RequestRecord, Usage
from semcache.cost.symptoms import REPETITIVE
from semcache.cost_port import DAY, CostKey, CostSums
from semcache.cost_rules import LABELS, CostPolicy, HitCharge, Labels
from semcache.records import SideRecord
from semcache.review_rules import DraftRecord, DraftWay

_CLIENT_GONE = 499
_LATEST_DAY = 2_932_896
"""The last day of the year 9999."""


class Prices(Protocol):
    """What is asked of a price book (`prices.PriceBook`)."""

    @property
    def version(self) -> str:
        """The edition of the prices."""
        ...

    def cost(self, model: str, usage: Usage, *, backend: str = "", at: float | None = None) -> int | None:
        """Give what a call cost in micro-USD; None: not known."""
        ...

    def embedding(self, tokens: int) -> int | None:
        """Give what embedding tokens cost; None: not known."""
        ...


@dataclass(frozen=True, slots=True)
class Costed:
    """One record in money, micro-USD; None: not known.

    `cost` is what was paid for the answer (0 for one from the cache), `embedding` for finding it, `charged` what the tenant is charged.
    `by_response`, `by_provider` and `by_local` are the savings, as in `CostSums`; they may be negative. `is_priced` is False where tokens
    were used or saved (or surely were, uncounted) and some of this money is not known. `version` is that of the prices.
    """

    cost: int | None
    embedding: int | None
    charged: int | None
    by_response: int | None
    by_provider: int | None
    by_local: int | None
    is_priced: bool
    version: str

    @property
    def without_caches(self) -> int | None:
        """What it would have cost without any cache; None where that is not known."""
        parts = (self.cost, self.by_response, self.by_provider, self.by_local)
        return None if any(part is None for part in parts) else sum(part or 0 for part in parts)

    @property
    def net(self) -> int | None:
        """All savings less what the embedding cost; negative where reuse lost money."""
        whole = self.without_caches
        return None if whole is None else whole - (self.cost or 0) - (self.embedding or 0)


@dataclass(frozen=True, slots=True)
class _Paid:
    """What calls cost, and would have cost without the prompt cache; None: not known."""

    cost: int | None
    plain: int | None

    @property
    def discount(self) -> int | None:
        return None if self.cost is None or self.plain is None else self.plain - self.cost


_FREE = _Paid(0, 0)


def costed(record: RequestRecord, book: Prices, policy: CostPolicy) -> Costed:
    """Put a request's record into money, by the prices of when it was made."""
    paid = _paid(record, book)
    lost = _lost(record, book)
    reused = _reused(record, book)
    cost = None if paid.cost is None or lost is None else paid.cost + lost
    saved = None if reused is None or lost is None else reused - lost
    # The cache of the engine is ours, any other the provider's.
    local, provider = (paid.discount, 0) if record.is_local else (0, paid.discount)
    is_unknown = None in (cost, saved, local, provider)
    return Costed(
        cost=cost,
        embedding=book.embedding(record.embedded) if record.embedded > 0 else 0,
        charged=_charged(record, policy, cost, saved),
        by_response=saved,
        by_provider=provider,
        by_local=local,
        is_priced=not (is_unknown and _is_call(record)),
        version=book.version,
    )


def is_reuse(record: RequestRecord) -> bool:
    """True when the answer was another call's: from the cache, or shared with a request under way."""
    return record.collapsed or record.outcome in (Outcome.EXACT, Outcome.SEMANTIC)


def sums_of(record: RequestRecord, money: Costed) -> tuple[CostKey, CostSums]:
    """Give what a request adds to the sums, and under which key."""
    used, saved = record.usage or _NONE, (record.saved if is_reuse(record) else None) or _NONE
    key = _key(record, record.outcome.value)
    return key, CostSums(
        requests=1,
        input=used.prompt_tokens,
        cached=used.cached_tokens,
        written=used.written_tokens,
        output=used.completion_tokens,
        reasoning=used.reasoning_tokens,
        saved_input=saved.prompt_tokens,
        saved_output=saved.completion_tokens,
        cost=money.cost or 0,
        embedding=money.embedding or 0,
        charged=money.charged or 0,
        by_response=money.by_response or 0,
        by_provider=money.by_provider or 0,
        by_local=money.by_local or 0,
        unpriced=int(not money.is_priced),
        estimated=int(record.estimated),
        errors=int(record.outcome is Outcome.ERROR),
        retries=int(record.retry),
        repetitive=int((record.repetition or 0.0) >= REPETITIVE),
        milliseconds=_milliseconds(record.duration),
        saved_milliseconds=_waited(record),
    )


def side_costed(record: SideRecord, book: Prices) -> int | None:
    """Give what work beside requests cost in micro-USD; None where that is not known."""
    if record.usage is None:
        return None
    return book.cost(record.model, record.usage, backend=record.backend, at=record.at)


def side_sums_of(record: SideRecord, money: int | None) -> tuple[CostKey, CostSums]:
    """Give what work beside requests adds to the sums. It is no request, and claims no savings."""
    used = record.usage or _NONE
    return _key(record, record.kind.value), CostSums(
        input=used.prompt_tokens,
        cached=used.cached_tokens,
        written=used.written_tokens,
        output=used.completion_tokens,
        reasoning=used.reasoning_tokens,
        side=money or 0,
        unpriced=int(money is None),
    )


_NONE = Usage(0, 0)
_LOAD = "load"


def _paid(record: RequestRecord, book: Prices) -> _Paid:
    """Price what this request's own call used."""
    used = record.usage
    if used is None:
        return _FREE if is_reuse(record) or _was_refused(record) else _Paid(None, None)
    model, backend = record.model, record.backend
    if record.draft is not None and _is_revised(record.draft):
        model, backend = record.draft.model or model, record.draft.backend or backend
        if backend != record.backend:
            # Whose prompt cache that was nobody says; what the draft saved stands against what it paid.
            paid = book.cost(model, used, backend=backend, at=record.at)
            return _Paid(paid, paid)
    plain = replace(used, cached_tokens=0, written_tokens=0, written_long_tokens=0)
    return _Paid(
        book.cost(model, used, backend=backend, at=record.at),
        book.cost(model, plain, backend=backend, at=record.at),
    )


def _lost(record: RequestRecord, book: Prices) -> int | None:
    """Price a revision that failed: it came on top of the plain call."""
    draft = record.draft
    if draft is None or draft.way != DraftWay.REVISE or not draft.result.startswith("failed"):
        return 0
    if not draft.input and not draft.output:
        return 0
    used = Usage(draft.input, draft.output)
    model, backend = draft.model or record.model, draft.backend or record.backend
    return book.cost(model, used, backend=backend, at=record.at)


def _reused(record: RequestRecord, book: Prices) -> int | None:
    """Price the call that was not made: as billed then, so that its provider's discount is not claimed twice."""
    if is_reuse(record):
        if record.saved is None:
            return None
        return book.cost(record.model, record.saved, backend=record.backend, at=record.at)
    draft = record.draft
    if draft is None or draft.way == DraftWay.LOSSLESS or draft.result.startswith(("declined", "failed")):
        return 0
    return draft.saved


def _charged(record: RequestRecord, policy: CostPolicy, cost: int | None, saved: int | None) -> int | None:
    if not is_reuse(record):
        return cost
    match policy.hit_charge:
        case HitCharge.NONE:
            return 0
        case HitCharge.FIXED:
            return policy.hit_price
        case HitCharge.FULL:
            return saved


def _is_revised(draft: DraftRecord) -> bool:
    return draft.way == DraftWay.REVISE and not draft.result.startswith(("declined", "failed"))


def _was_refused(record: RequestRecord) -> bool:
    """True where no model worked: refused here, or by an upstream, which bills no errors; or only loaded, which needs none.

    A client that left while an upstream was at work is another thing, and so is an answer that broke off.
    """
    if (record.outcome, record.reason) == (Outcome.BYPASS, _LOAD) and not record.backend:
        return True
    at_work = record.estimated or (record.status == _CLIENT_GONE and record.backend != "")
    return record.status >= 400 and not at_work


def _is_call(record: RequestRecord) -> bool:
    """True when a model was asked: other paths (lists, files) cost nothing that anybody counts in tokens."""
    return record.usage is not None or is_reuse(record) or record.route != "other"


def _key(record: RequestRecord | SideRecord, outcome: str) -> CostKey:
    labels = _named(record.labels)
    return CostKey(
        tenant=record.tenant,
        day=min(max(int(record.at // DAY), 0), _LATEST_DAY) if abs(record.at) < 1e15 else 0,
        model=record.model,
        backend=record.backend,
        outcome=outcome,
        key_name=record.key_name,
        project=labels.get("project", ""),
        environment=labels.get("environment", ""),
        business_line=labels.get("business_line", ""),
        task=labels.get("task", ""),
        is_local=record.is_local,
    )


def _named(labels: Labels) -> dict[str, str]:
    return {name: value for name, value in labels if name in LABELS}


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000) if 0 < seconds < 1e9 else 0


def _waited(record: RequestRecord) -> int:
    if not is_reuse(record) or record.waited is None or not 0 < record.waited < 1e9:
        return 0
    return round(record.waited * 1000) - _milliseconds(record.duration)
