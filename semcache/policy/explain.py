"""Tells how a request came to its policy: which rule, in which line, and what each step changed.

Runs the same functions as `PolicySnapshot.resolve`, one at a time. Holds no prompt text.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from semcache.core import CachePolicy, Caller, ChatRequest, Directives, Scope
from semcache.errors import RequestError
from semcache.policy.directives import STEPS, wishes_of
from semcache.policy.match import find_rule, tighten
from semcache.policy.snapshot import PolicySnapshot, TenantPolicies, check_domain, check_model


@dataclass(frozen=True, slots=True)
class Change:
    """One knob that a step tightened; values as text."""

    knob: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ExplainStep:
    """One step on the way. `where` is `file:line`, or empty when no file speaks."""

    what: str
    where: str = ""
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """The steps in order, and what they lead to: a policy, or the refusal's words."""

    steps: tuple[ExplainStep, ...]
    policy: CachePolicy | None
    refusal: str = ""


def explain(
    snapshot: PolicySnapshot, request: ChatRequest, caller: Caller, directives: Directives
) -> Explanation:
    """Explain what `snapshot.resolve` gives for the same arguments, refusals included."""
    steps: list[ExplainStep] = []
    try:
        tenant = snapshot.tenant(caller.tenant)
        steps.append(ExplainStep(_caller(caller), f"{tenant.source.file}:{tenant.source.line('tenant')}"))
        check_model(tenant, request.model)
        policy, assigned = _assigned(tenant, request)
        steps.append(assigned)
        if directives.domain:
            check_domain(tenant, caller, directives.domain)
            policy, named = _named(tenant, policy, directives.domain)
            steps.append(named)
    except RequestError as error:
        return Explanation(tuple(steps), None, error.message)
    wished, more = _wished(policy, request, directives)
    return Explanation((*steps, *more), wished)


def explain_tightening(before: CachePolicy, after: CachePolicy, what: str) -> ExplainStep:
    """Explain a later tightening, such as the classifier's."""
    return ExplainStep(what, "", _changes(before, after))


def explain_prefix(
    snapshot: PolicySnapshot, request: ChatRequest, directives: Directives, policy: CachePolicy
) -> ExplainStep:
    """Explain who may reuse what the local engine computes for a request; `policy` is what it resolved to."""
    source = snapshot.tenant(policy.tenant).source
    rules = snapshot.prefix(policy.tenant)
    share = rules.share_for(policy, directives)
    who = {
        None: "nobody may reuse this prompt",
        Scope.USER: "system messages are the tenant's, the rest one end user's",
    }.get(share, "all callers of the tenant may reuse this prompt")
    public = snapshot.public.leading(request.body)
    head = f"; public messages at its head: {public}" if public else ""
    changes = () if share is rules.share else (Change("prefix.share", _word(rules.share), _word(share)),)
    return ExplainStep(
        f"in the local engine {who}{head}", f"{source.file}:{source.line('prefix', 'share')}", changes
    )


def _word(share: Scope | None) -> str:
    return share.value if share is not None else "none"


def _caller(caller: Caller) -> str:
    if caller.key_name:
        return f"tenant {caller.tenant}, by key {caller.key_name}"
    how = "by a key passed to the upstream" if caller.principal else "without a key, from this machine"
    return f"tenant {caller.tenant}, {how}"


def _assigned(tenant: TenantPolicies, request: ChatRequest) -> tuple[CachePolicy, ExplainStep]:
    source = tenant.source
    rule = find_rule(tenant.rules, request.path, request.model, request.system)
    if rule is None:
        name = source.policy.default_domain
        what, line = f"no rule matches: default domain {name}", source.line("default_domain")
    else:
        name = rule.domain
        title = source.policy.assign.rules[rule.index].name or f"number {rule.index}"
        what, line = f"rule {title} matches: domain {name}", source.line("assign", "rules", rule.index)
    return tenant.domains[name], ExplainStep(what, f"{source.file}:{line}")


def _named(tenant: TenantPolicies, policy: CachePolicy, domain: str) -> tuple[CachePolicy, ExplainStep]:
    both = tighten(policy, tenant.domains[domain])
    after = replace(both, domain=tenant.stricter_name(both.domain))
    where = f"{tenant.source.file}:{tenant.source.line('domains', domain)}"
    return after, ExplainStep(f"the client names domain {domain}", where, _changes(policy, after))


def _wished(
    policy: CachePolicy, request: ChatRequest, directives: Directives
) -> tuple[CachePolicy, list[ExplainStep]]:
    wishes = wishes_of(request, directives)
    steps: list[ExplainStep] = []
    for what, step in STEPS:
        after = step(policy, wishes)
        if changes := _changes(policy, after):
            steps.append(ExplainStep(what, "", changes))
        policy = after
    return policy, steps


def _changes(before: CachePolicy, after: CachePolicy) -> tuple[Change, ...]:
    names = [field.name for field in fields(before)]
    return tuple(
        Change(name, str(getattr(before, name)), str(getattr(after, name)))
        for name in names
        if getattr(before, name) != getattr(after, name)
    )
