"""Runs the `tests:` of policy files: question pairs that must share an answer, or must not.

Knows no encoder and no decision: the judge that is passed in brings both. A pair passes as
`match` only when the decision is a hit; a draft, a miss and a bypass all keep the two apart.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from semcache.core import Bypass, CachePolicy, Decision, Draft, Hit, Miss, TenantId
from semcache.errors import SemcacheError
from semcache.policy.schema import Trial
from semcache.policy.snapshot import PolicySnapshot, TenantPolicies

Judge = Callable[[str, str, CachePolicy], Awaitable[Decision]]
"""Decides whether the answer stored for the first text may be served for the second."""


@dataclass(frozen=True, slots=True)
class TrialCase:
    """A pair with its place (`file:line`) and the policy it is judged under."""

    tenant: TenantId
    where: str
    trial: Trial
    policy: CachePolicy


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What became of a pair. `outcome` is hit, draft, miss, bypass or error; `reasons` say why."""

    case: TrialCase
    outcome: str
    similarity: float | None
    reasons: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """True when the outcome is the expected one; an error never is."""
        return self.outcome != "error" and (self.outcome == "hit") == (self.case.trial.expect == "match")


def cases(snapshot: PolicySnapshot, tenant: TenantId | None = None) -> Iterator[TrialCase]:
    """Give all pairs (of one tenant), each with the policy of its domain."""
    for name in snapshot.tenants:
        if tenant is None or name == tenant:
            yield from _cases_of(name, snapshot.by_tenant[name])


def _cases_of(name: TenantId, policies: TenantPolicies) -> Iterator[TrialCase]:
    source = policies.source
    for index, trial in enumerate(source.policy.tests):
        domain = trial.domain or source.policy.default_domain
        where = f"{source.file}:{source.line('tests', index)}"
        yield TrialCase(name, where, trial, policies.domains[domain])


async def run_trials(
    snapshot: PolicySnapshot, judge: Judge, tenant: TenantId | None = None
) -> tuple[TrialResult, ...]:
    """Judge all pairs (of one tenant), one after the other, in the order of the files."""
    return tuple([await _run(case, judge) for case in cases(snapshot, tenant)])


async def _run(case: TrialCase, judge: Judge) -> TrialResult:
    try:
        decision = await judge(case.trial.a, case.trial.b, case.policy)
    except SemcacheError as error:
        return TrialResult(case, "error", None, (str(error),))
    return _result(case, decision)


def _result(case: TrialCase, decision: Decision) -> TrialResult:
    match decision:
        case Hit(similarity=similarity):
            return TrialResult(case, "hit", similarity, ())
        case Draft(similarity=similarity, reasons=reasons):
            return TrialResult(case, "draft", similarity, reasons)
        case Miss(reason=reason, vetoes=vetoes, similarity=miss_similarity):
            return TrialResult(case, "miss", miss_similarity, (reason, *vetoes))
        case Bypass(reason=reason):
            return TrialResult(case, "bypass", None, (reason,))
