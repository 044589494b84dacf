"""What reuse is worth: money and waiting spared, against what it costs. Pure arithmetic on what was found.

All figures are those of a day of the log, scaled up where only a part of it was replayed. What has no price is left out of money
and its share told. Two prices are assumptions, written down here: a processor core for an hour (CORE_HOUR), which embedding
takes, and that a hit costs no call of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from semcache.advise.findings import DomainReplay, DomainWorth, Findings, Semantic, Worth
from semcache.advise.telling import share
from semcache.core import CachePolicy, TenantId
from semcache.policy.snapshot import PolicySnapshot
from semcache.records import Usage

CORE_HOUR = 50_000
"""Micro-USD: about what clouds ask for a core with its memory."""
_DAY, _HOUR = 86_400.0, 3_600.0
_SHORT = 6 * _HOUR

Cost = Callable[[str, Usage], int | None]
"""Gives what so many tokens of a model cost, in micro-USD; None: not known (`cost.prices.PriceBook.cost`)."""


def worth_of(found: Findings, snapshot: PolicySnapshot, tenant: TenantId, cost: Cost | None = None) -> Worth:
    """Give what reuse is worth a day.

    Args:
        found: with `semantic` where the log was replayed; else exact repeats alone are counted.
        snapshot: the policies that it was replayed under.
        tenant: whose of them; says how many hits are audited.
        cost: prices, for the provider's prompt cache; None: it is not reckoned.
    """
    span = _span(found)
    # Less than an hour tells nothing of a day.
    days = span / _DAY if span >= _HOUR else 0.0
    per = 1.0 / days if days else 1.0
    if found.semantic is not None and found.semantic.requests:
        policies = snapshot.tenant(tenant).domains
        domains = tuple(
            _domain(each, found.semantic, policies.get(each.domain), per) for each in found.semantic.domains
        )
        unpriced = _share(found.semantic.unpriced, found.semantic.hits)
        texts = found.semantic.embedded * _scale(found.semantic) * per * found.semantic.embed_seconds
    else:
        domains, unpriced, texts = (
            (_exact_alone(found, per),),
            _share(found.exact.unpriced, found.exact.hits),
            0.0,
        )
    return Worth(
        days=days,
        domains=domains,
        total=_total(domains),
        unpriced=unpriced,
        core_seconds=texts,
        by_provider=None if cost is None else _by_provider(found, cost, per),
        provider_already=found.spending.total.cached,
        notes=_notes(span, days, unpriced),
    )


def _span(found: Findings) -> float:
    first, last = found.reading.first, found.reading.last
    return 0.0 if first is None or last is None else max(0.0, last - first)


def _notes(span: float, days: float, unpriced: float) -> tuple[str, ...]:
    notes = []
    if not days:
        notes.append(
            "Without times that span an hour there is no day to reckon with: all figures are those of the whole log."
        )
    elif span < _SHORT:
        notes.append(f"The log covers {span / _HOUR:.1f} hours; a day is reckoned as so many of them.")
    if unpriced > 0:
        notes.append(f"{share(unpriced)} of the hits have no price and no part in money.")
    return tuple(notes)


def _scale(semantic: Semantic) -> float:
    """Give the number of requests in the log for each that was counted."""
    return max(1.0, semantic.of / semantic.requests) if semantic.requests else 1.0


def _domain(each: DomainReplay, semantic: Semantic, policy: CachePolicy | None, per: float) -> DomainWorth:
    much = _scale(semantic) * per
    by_exact, by_meaning = each.saved_by_exact, each.saved_cost - each.saved_by_exact
    has_price = each.hits == 0 or each.unpriced < each.hits
    embedded = _share(each.requests, semantic.requests) * semantic.embedded * semantic.embed_seconds
    return DomainWorth(
        domain=each.domain,
        requests=each.requests * much,
        hits=each.hits * much,
        by_exact=round(by_exact * much) if has_price else None,
        by_meaning=round(by_meaning * much) if has_price else None,
        audits=_audits(each, policy, much) if has_price else None,
        embedding=round(embedded * much / _HOUR * CORE_HOUR),
        seconds=each.saved_seconds * much,
        input=each.saved_input * much,
        output=each.saved_output * much,
    )


def _audits(each: DomainReplay, policy: CachePolicy | None, much: float) -> int:
    """Give what audits cost: while evidence is thin, within the policy's caps, each as much as the call that a hit spared."""
    if policy is None or not policy.audit.enabled or not each.semantic:
        return 0
    calls = min(each.semantic * much * policy.risk.audit_thin, float(policy.audit.max_calls))
    one = (each.saved_cost - each.saved_by_exact) / each.semantic
    return round(min(calls * one, float(policy.audit.max_money)))


def _exact_alone(found: Findings, per: float) -> DomainWorth:
    exact = found.exact
    has_price = exact.hits == 0 or exact.unpriced < exact.hits
    return DomainWorth(
        domain="",
        requests=exact.requests * per,
        hits=exact.hits * per,
        by_exact=round(exact.saved_cost * per) if has_price else None,
        by_meaning=0 if has_price else None,
        audits=0 if has_price else None,
        embedding=0,
        seconds=exact.saved_seconds * per,
        input=exact.saved_input * per,
        output=exact.saved_output * per,
    )


def _total(domains: Iterable[DomainWorth]) -> DomainWorth:
    total = DomainWorth("", 0.0, 0.0, None, None, None, 0, 0.0, 0.0, 0.0)
    for each in domains:
        total = replace(
            total,
            requests=total.requests + each.requests,
            hits=total.hits + each.hits,
            by_exact=_plus(total.by_exact, each.by_exact),
            by_meaning=_plus(total.by_meaning, each.by_meaning),
            audits=_plus(total.audits, each.audits),
            embedding=total.embedding + each.embedding,
            seconds=total.seconds + each.seconds,
            input=total.input + each.input,
            output=total.output + each.output,
        )
    return total


def _plus(one: int | None, other: int | None) -> int | None:
    """Add up what has a price; None where neither has."""
    if one is None:
        return other
    return one if other is None else one + other


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _by_provider(found: Findings, cost: Cost, per: float) -> int | None:
    """Give what the provider's prompt cache would take off besides, at most: what prompts share by its rules, less what it read already.

    Premiums for writing are not in it.
    """
    provider, overlap = found.overlap.provider, found.overlap
    if provider is None or not overlap.all.reused:
        return None
    more = max(0.0, 1.0 - _share(found.spending.total.cached, provider.reused)) if provider.reused else 0.0
    fits = provider.reused / overlap.all.reused
    total: int | None = None
    for model in overlap.by_model:
        tokens = int(model.reused * fits * more)
        full, cached = (
            cost(model.name, Usage(tokens, 0)),
            cost(model.name, Usage(tokens, 0, cached_tokens=tokens)),
        )
        if full is not None and cached is not None:
            total = (total or 0) + max(0, full - cached)
    return None if total is None else round(total * per)
