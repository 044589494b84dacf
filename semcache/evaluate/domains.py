"""Which policy a row is judged by: policies from a file or a directory, a tenant, a domain's name.

A row may name its domain. Where the policy has a domain of that name (or of the name that
`ALIASES` gives), the row is judged as a request of that domain, whatever the policy's rules would
make of it; every other row is an ordinary request: rules, then the default domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from semcache.core import CachePolicy, Confirmation, TenantId
from semcache.errors import PolicyError, SemcacheError
from semcache.policy.loader import MAX_BYTES, load_default, load_directory, read_file
from semcache.policy.problems import policy_error
from semcache.policy.prompts import bounded_bytes
from semcache.policy.snapshot import PolicySnapshot, TenantPolicies, build_snapshot

ALIASES: Mapping[str, str] = {
    "coding": "code",
    "programming": "code",
    "health": "medical",
    "clinical": "medical",
    "law": "legal",
}
"""Other names that files give to the domains of the built-in policy."""


@dataclass(frozen=True, slots=True)
class Variation:
    """One knob of all domains of a tenant moved, to see what it does.

    Rows name no users, so that nobody would ever confirm an answer, and all would crowd each other: what the policy says of
    both is left out, unless it is what is to be seen.

    Args:
        threshold: similarity from which answers are served, with no band for drafts; None: as stated.
        min_score: least score of the verifier; None: as stated.
        budget: greatest allowed wrong / hits; None: as stated.
        confirmation: what a new answer needs before others than its author get it.
        max_near: how many answers of one author may lie near each other; None: any number.
    """

    threshold: float | None = None
    min_score: float | None = None
    budget: float | None = None
    confirmation: Confirmation = field(default_factory=Confirmation)
    max_near: int | None = None


AS_STATED = Variation()


def policies_at(path: Path | None) -> PolicySnapshot:
    """Load the policies to judge by: one file, a directory, or (None) the built-in policy.

    Raises:
        PolicyError: they are refused, or not there.
    """
    if path is None:
        return load_default()
    if path.is_dir():
        return load_directory(path)
    try:
        data = bounded_bytes(path, MAX_BYTES)
    except OSError as error:
        raise PolicyError(f"cannot be read: {error.strerror or error}", str(path)) from None
    source, problems = read_file(data, str(path), path.parent)
    if source is None or problems:
        raise policy_error(problems)
    return build_snapshot([source])


def tenant_of(snapshot: PolicySnapshot, name: str) -> TenantId:
    """Give the tenant to judge for: the named one, the only one, or `default`.

    Raises:
        SemcacheError: there is no such tenant, or it is not plain which one is meant.
    """
    known = snapshot.tenants
    if not name and len(known) == 1:
        return known[0]
    wanted = TenantId(name or "default")
    if wanted not in known:
        what = f"no file speaks for tenant {name}" if name else "several tenants: name one by --tenant"
        raise SemcacheError(f"{what}; there are: {', '.join(known)}")
    return wanted


def domain_of(tenant: TenantPolicies, row_domain: str) -> str:
    """Give the policy's domain for a row, or "" for an ordinary request."""
    for name in (row_domain, ALIASES.get(row_domain, "")):
        if name and name in tenant.domains:
            return name
    return ""


def as_domain(snapshot: PolicySnapshot, tenant: TenantId, domain: str) -> PolicySnapshot:
    """Give the policies under which every request of the tenant is of one domain."""
    old = snapshot.tenant(tenant)
    policy = old.source.policy.model_copy(update={"default_domain": domain})
    new = replace(old, source=replace(old.source, policy=policy), rules=(), reads_system=False)
    return _with(snapshot, tenant, new)


def varied(snapshot: PolicySnapshot, tenant: TenantId, variation: Variation) -> PolicySnapshot:
    """Give the policies with a knob moved in all domains of the tenant."""
    old = snapshot.tenant(tenant)
    domains = {name: _moved(policy, variation) for name, policy in old.domains.items()}
    quota = replace(old.quota, max_near=variation.max_near)
    return _with(snapshot, tenant, replace(old, domains=domains, quota=quota))


def _moved(policy: CachePolicy, to: Variation) -> CachePolicy:
    policy = replace(policy, confirmation=to.confirmation)
    if to.threshold is not None:
        bar = to.threshold
        policy = replace(policy, threshold=bar, verified_threshold=bar, draft_threshold=bar)
    if to.budget is not None:
        policy = replace(policy, risk=replace(policy.risk, budget=to.budget))
    return policy if to.min_score is None else replace(policy, min_score=to.min_score)


def _with(snapshot: PolicySnapshot, tenant: TenantId, policies: TenantPolicies) -> PolicySnapshot:
    # What was resolved under the old ones must not be remembered.
    return replace(snapshot, by_tenant={**snapshot.by_tenant, tenant: policies}, memo={})
