"""All policies of one moment: immutable, swapped whole, asked once or twice a request.

Knows what the files say, not where they lie nor when they change. What does not depend on the
request is worked out when the snapshot is built; what does is remembered, bounded, by the few
things that decide it, so that the usual request costs one dictionary look-up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from semcache.core import CachePolicy, Caller, ChatRequest, Confirmation, Directives, Mode, TenantId
from semcache.cost_rules import CostPolicy, HistoryPolicy
from semcache.errors import PolicyError, RequestError
from semcache.policy.access import Gatekeeper, gatekeeper, refused
from semcache.policy.checks import PolicySource
from semcache.policy.directives import apply, wishes_of
from semcache.policy.domain import CallLimits, ClassifierSpec, Quota
from semcache.policy.effective import domain_policy
from semcache.policy.exemplars import BUILT_IN
from semcache.policy.history_knobs import history_policy
from semcache.policy.match import (
    CONFIRMED_BY,
    MODES,
    CompiledRule,
    compile_rules,
    covers_any,
    find_rule,
    stricter_confirmation,
    tighten,
)
from semcache.policy.prefix import NOTHING_PUBLIC, PrefixRules, PublicMessages, prefix_rules
from semcache.policy.schema import PolicyFile

MEMO_ENTRIES = 1024
MEMO_TEXT = 1024
"""Characters of a system prompt kept as they are in the memo; longer ones by digest."""
MEMO_NAME = 256
"""A longer path or model name is never remembered."""

MemoKey = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class TenantPolicies:
    """One tenant's part of a snapshot, ready for use."""

    source: PolicySource
    domains: Mapping[str, CachePolicy]
    rules: tuple[CompiledRule, ...]
    reads_system: bool
    classifier: ClassifierSpec | None
    quota: Quota
    limits: CallLimits
    prefix: PrefixRules
    costs: CostPolicy
    history: HistoryPolicy

    def allows_model(self, model: str) -> bool:
        """Tell whether this tenant may ask for the model."""
        allowed = self.source.policy.models
        return allowed is None or covers_any(allowed, model)

    def stricter_name(self, names: str) -> str:
        """Name a combination (`a+b`) by its strictest domain."""
        return max(names.split("+"), key=self._rank)

    def _rank(self, name: str) -> tuple[int, float, float, int, int, str]:
        policy = self.domains[name]
        asked = CONFIRMED_BY.index(policy.confirmation.by), policy.confirmation.users
        return -MODES.index(policy.mode), policy.threshold, policy.verified_threshold, *asked, name


@dataclass(frozen=True, slots=True)
class PolicySnapshot:
    """Every tenant's policy. `generation` is a digest of what all files say, comments aside."""

    generation: str
    gatekeeper: Gatekeeper
    by_tenant: Mapping[TenantId, TenantPolicies]
    public: PublicMessages = NOTHING_PUBLIC
    memo: dict[MemoKey, CachePolicy] = field(default_factory=dict, compare=False, repr=False)

    @property
    def tenants(self) -> tuple[TenantId, ...]:
        """Names of all tenants, sorted."""
        return tuple(sorted(self.by_tenant))

    @property
    def has_keys(self) -> bool:
        """True when at least one key is configured."""
        return bool(self.gatekeeper.keys)

    def authenticate(self, authorization: str | None, api_key: str | None, loopback: bool) -> Caller:
        """Decide who the caller is; see `Gatekeeper.authenticate`.

        Raises:
            RequestError: 401, with one text for missing, wrong and malformed keys.
        """
        return self.gatekeeper.authenticate(authorization, api_key, loopback)

    def resolve(self, request: ChatRequest, caller: Caller, directives: Directives) -> CachePolicy:
        """Give the policy of a request: the assigned domain, the asked one, the client's wishes.

        Raises:
            RequestError: 400 for a domain that is not allowed or not known, 404 for a model the
                tenant may not ask for, 401 when the tenant is gone.
        """
        tenant = self.tenant(caller.tenant)
        key = self._memo_key(tenant, request, caller, directives)
        if (known := self.memo.get(key)) is not None:
            return known
        policy = self._resolve(tenant, request, caller, directives)
        if len(request.model) <= MEMO_NAME and len(request.path) <= MEMO_NAME:
            if len(self.memo) >= MEMO_ENTRIES:
                self.memo.clear()
            self.memo[key] = policy
        return policy

    def tighten(self, policy: CachePolicy, domain: str) -> CachePolicy:
        """Combine a resolved policy with the domain that the classifier found.

        A domain whose answers belong to fewer people closes the cache for this request: look-up
        and storing were prepared for the wider circle, and nothing of it may be used.

        Raises:
            PolicyError: the policy is not of this room's making, or the tenant has no such domain.
        """
        tenant = self.by_tenant.get(policy.tenant)
        if tenant is None or domain not in tenant.domains:
            raise PolicyError("cannot tighten: no such tenant or domain in this generation")
        after = combine(tenant, policy, domain)
        return after if after.scope is policy.scope else replace(after, mode=Mode.OFF, store=False)

    def confirmation(self, policy: CachePolicy, domain: str) -> Confirmation:
        """Give what a policy asks of a new answer, together with what the domain does that the answer was stored under."""
        tenant = self.by_tenant.get(policy.tenant)
        other = tenant.domains.get(domain) if tenant is not None and domain != policy.domain else None
        if other is None:
            return policy.confirmation
        return stricter_confirmation(policy.confirmation, other.confirmation)

    def exemplars(self, tenant: TenantId) -> Mapping[str, tuple[str, ...]]:
        """Give the classifier's typical questions by class; empty when it is switched off."""
        spec = self.classifier(tenant)
        return dict(spec.exemplars) if spec else {}

    def classifier(self, tenant: TenantId) -> ClassifierSpec | None:
        """Give what the tenant's classifier is made from; None when it is switched off."""
        return self.tenant(tenant).classifier

    def upstream(self, tenant: TenantId) -> str | None:
        """Name the upstream of the main configuration that answers this tenant; None: the first."""
        return self.tenant(tenant).source.policy.upstream

    def quota(self, tenant: TenantId) -> Quota:
        """Give how much the tenant may keep."""
        return self.tenant(tenant).quota

    def limits(self, tenant: TenantId) -> CallLimits:
        """Give how many calls of the tenant may be under way; any number for one that is gone."""
        found = self.by_tenant.get(tenant)
        return CallLimits() if found is None else found.limits

    def prefix(self, tenant: TenantId) -> PrefixRules:
        """Give what the tenant's file says of computed prompts."""
        return self.tenant(tenant).prefix

    def costs(self, tenant: TenantId) -> CostPolicy:
        """Give what the tenant's file says of money."""
        return self.tenant(tenant).costs

    def history(self, tenant: TenantId) -> HistoryPolicy:
        """Give how long histories of the tenant's clients may be trimmed."""
        return self.tenant(tenant).history

    def allows_model(self, tenant: TenantId, model: str) -> bool:
        """Tell whether the tenant may ask for this model."""
        return self.tenant(tenant).allows_model(model)

    def tenant(self, tenant: TenantId) -> TenantPolicies:
        """Give a tenant's part.

        Raises:
            RequestError: 401 when there is none (it was removed since the caller was let in).
        """
        found = self.by_tenant.get(tenant)
        if found is None:
            raise refused()
        return found

    def _memo_key(
        self, tenant: TenantPolicies, request: ChatRequest, caller: Caller, directives: Directives
    ) -> MemoKey:
        system: str | bytes = request.system if tenant.reads_system else ""
        if len(system) > MEMO_TEXT:
            system = hashlib.sha256(request.system.encode("utf-8", "surrogatepass")).digest()
        user = bool(directives.user)
        # The fields that `wishes_of` reads, as a bare tuple: building and hashing a record costs more
        # than all the rest of a usual request.
        return (
            caller.tenant, request.path, request.model, system, directives.domain, directives.mode, directives.ttl,
            directives.threshold, directives.max_age, directives.no_store, user, user or bool(request.end_user),
        )  # fmt: skip

    def _resolve(
        self, tenant: TenantPolicies, request: ChatRequest, caller: Caller, directives: Directives
    ) -> CachePolicy:
        check_model(tenant, request.model)
        rule = find_rule(tenant.rules, request.path, request.model, request.system)
        policy = tenant.domains[rule.domain if rule else tenant.source.policy.default_domain]
        if directives.domain:
            check_domain(tenant, caller, directives.domain)
            policy = combine(tenant, policy, directives.domain)
        return apply(policy, wishes_of(request, directives))


def check_model(tenant: TenantPolicies, model: str) -> None:
    """Refuse a model outside the tenant's list, in the words of the protocol.

    Raises:
        RequestError: 404 `model_not_found`.
    """
    if not tenant.allows_model(model):
        raise RequestError(
            "The model does not exist or you do not have access to it.",
            status=404,
            code="model_not_found",
            param="model",
        )


def check_domain(tenant: TenantPolicies, caller: Caller, asked: str) -> None:
    """Refuse a domain that the tenant does not have, or that its callers may not choose.

    The names are told to callers of the tenant itself, never to a stranger whose key was only
    passed through.

    Raises:
        RequestError: 400.
    """
    if not tenant.source.policy.assign.header:
        raise RequestError(
            "Semcache-Domain is not accepted under this policy.",
            code="domain_not_accepted",
            param="Semcache-Domain",
        )
    if asked not in tenant.domains:
        names = "" if caller.principal else f" Known are: {', '.join(sorted(tenant.domains))}."
        raise RequestError(
            f"Semcache-Domain names no known domain.{names}", code="unknown_domain", param="Semcache-Domain"
        )


def combine(tenant: TenantPolicies, policy: CachePolicy, domain: str) -> CachePolicy:
    """Tighten by a domain of the tenant; the result carries the strictest one's name."""
    both = tighten(policy, tenant.domains[domain])
    return replace(both, domain=tenant.stricter_name(both.domain))


def build_snapshot(sources: Sequence[PolicySource]) -> PolicySnapshot:
    """Build a snapshot from checked files."""
    generation = _generation(sources)
    return PolicySnapshot(
        generation=generation,
        gatekeeper=gatekeeper(source.policy for source in sources),
        by_tenant={TenantId(s.policy.tenant): _tenant(s, generation) for s in sources},
        public=next((s.public for s in sources if s.policy.prefix.public), NOTHING_PUBLIC),
    )


def _generation(sources: Sequence[PolicySource]) -> str:
    digest = hashlib.sha256()
    for source in sorted(sources, key=lambda s: s.policy.tenant):
        content = source.policy.model_dump_json().encode()
        digest.update(len(content).to_bytes(8, "big") + content)
        for public in (source.public.by_system, source.public.by_anybody):
            digest.update(b"".join(sorted(public)))
    return digest.hexdigest()[:16]


def _tenant(source: PolicySource, generation: str) -> TenantPolicies:
    policy = source.policy
    rules = compile_rules(policy.assign.rules)
    return TenantPolicies(
        source=source,
        domains={name: domain_policy(policy, name, generation) for name in policy.domains},
        rules=rules,
        reads_system=any(rule.reads_system for rule in rules),
        classifier=_classifier(policy),
        quota=Quota(
            policy.quotas.max_entries,
            policy.quotas.max_bytes,
            policy.quotas.max_share_per_key,
            policy.quotas.max_near_per_author,
        ),
        limits=CallLimits(policy.limits.concurrent_calls, policy.limits.queue, policy.limits.queue_seconds),
        prefix=prefix_rules(policy.prefix),
        costs=policy.costs.policy(),
        history=history_policy(policy.history),
    )


def _classifier(policy: PolicyFile) -> ClassifierSpec | None:
    """Collect the exemplars of a tenant: the built-in ones of its domains, replaced where it states its own."""
    knobs = policy.classifier
    if not knobs.enabled:
        return None
    built_in = {name: texts for name, texts in BUILT_IN.items() if name == "other" or name in policy.domains}
    exemplars = {**built_in, **knobs.exemplars}
    return ClassifierSpec(tuple(sorted(exemplars.items())), knobs.min_similarity, knobs.margin)
