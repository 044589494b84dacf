"""Requests that came before with the same meaning-bearing body: the product's own keys, and the policy's lifetimes.

Domains by rules alone: a classifier may shorten lives further (see `replay`, which asks the real pipeline). Pure.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from semcache.advise.asked import asked_of
from semcache.advise.findings import Exact
from semcache.advise.remembered import Remembered
from semcache.advise.rows import LogRow
from semcache.core import CachePolicy, Directives, Scope, TenantId
from semcache.decide import admission
from semcache.embed.fingerprint import Partition, exact_key, namespace_of
from semcache.errors import RequestError
from semcache.evaluate.asking import UPSTREAM
from semcache.journey import Asked
from semcache.policy.snapshot import PolicySnapshot
from semcache.records import Usage

MOST_KEYS = 2_000_000
_MOST_LIVES = 50_000
_MOST_TENANTS = 200
_SHOWN = 20
_OTHERS = "~other"
_PLAIN = Directives()
NOT_A_REQUEST = "no-request"
UNENCODABLE = "unencodable"


@dataclass(frozen=True, slots=True)
class Repeat:
    """What exact reuse makes of one row: its key (None: out of reach), and whether it is a hit; `policy` holds for it."""

    key: int | None
    hit: bool
    policy: CachePolicy | None = None
    asked: Asked | None = None


class ExactRepeats:
    """Takes rows in time order.

    Args:
        snapshot: policies.
        tenant: whose of them.
        most: keys remembered.
    """

    def __init__(self, snapshot: PolicySnapshot, tenant: TenantId, most: int = MOST_KEYS) -> None:
        self._snapshot = snapshot
        self._tenant = tenant
        self._born = Remembered(most)
        self._lives = Remembered(_MOST_LIVES)
        self._reasons: Counter[str] = Counter()
        self._tenants: dict[str, list[int]] = {}
        self._requests = self._repeats = self._hits = 0
        self._input = self._output = self._cost = self._unpriced = 0
        self._seconds = 0.0
        self._number = 0

    def add(self, row: LogRow, usage: Usage, cost: int | None) -> Repeat:
        """Take a row.

        Args:
            row: what was asked.
            usage: its tokens, which a hit saves.
            cost: its money, micro-USD; None: not known.
        """
        self._requests += 1
        found = self._met(row)
        counts = self._tenants.get(row.tenant)
        if counts is None:
            name = row.tenant if len(self._tenants) < _MOST_TENANTS else _OTHERS
            counts = self._tenants.setdefault(name, [0, 0])
        counts[0] += 1
        counts[1] += found.hit
        if found.hit:
            self._hits += 1
            self._input += usage.prompt_tokens
            self._output += usage.completion_tokens
            self._cost += cost or 0
            self._unpriced += cost is None
            self._seconds += row.seconds or 0.0
        return found

    def _met(self, row: LogRow) -> Repeat:
        asked = asked_of(row, self._tenant)
        if asked is None:
            return self._out(NOT_A_REQUEST)
        if asked.raw_body is not None:
            return self._out(UNENCODABLE)
        try:
            policy = self._snapshot.resolve(asked.request, asked.caller, _PLAIN)
        except RequestError as error:
            return self._out(error.code or "refused")
        closed = admission.bypass(policy, asked.request, _PLAIN)
        if closed is not None:
            return self._out(closed)
        try:
            key = _key(asked, policy)
        except TypeError:
            return self._out(UNENCODABLE)
        return Repeat(key, self._served(row, asked, policy, key), policy, asked)

    def _served(self, row: LogRow, asked: Asked, policy: CachePolicy, key: int) -> bool:
        """Look the key up; what is not served is stored, where it may be."""
        born = self._born.get(key)
        # Without times all of the log is one moment.
        now = row.at if row.at is not None else (born or 0.0)
        self._repeats += born is not None
        if born is not None and now - born < self._life(key, asked, policy, now - born):
            self._born.put(key, born)
            return True
        refused = admission.may_store(policy, asked.request, _PLAIN) or _not_kept(row, policy)
        if refused is None:
            self._born.put(key, now)
        return False

    def _life(self, key: int, asked: Asked, policy: CachePolicy, age: float) -> float:
        """Give how long an answer lives; whether a question is about the present is asked only where that matters."""
        if not policy.volatile_ttl <= age < policy.ttl:
            return admission.lifetime(policy, _PLAIN, 0.5)
        life = self._lives.get(key)
        if life is None:
            life = admission.lifetime(policy, _PLAIN, 0.5, asked.request.prompt)
            self._lives.put(key, life)
        return life

    def _out(self, reason: str) -> Repeat:
        self._reasons[reason] += 1
        return Repeat(None, hit=False)

    def findings(self) -> Exact:
        """Give what was found so far."""
        policies = self._snapshot.tenant(self._tenant)
        out = self._reasons.total()
        ranked = sorted(self._tenants.items(), key=lambda each: (-each[1][0], each[0]))
        return Exact(
            requests=self._requests,
            cacheable=self._requests - out,
            repeats=self._repeats,
            hits=self._hits,
            out_of_reach=out,
            reasons=tuple(self._reasons.most_common()),
            ttl=policies.domains[policies.source.policy.default_domain].ttl,
            saved_input=self._input,
            saved_output=self._output,
            saved_cost=self._cost,
            unpriced=self._unpriced,
            saved_seconds=self._seconds,
            by_tenant=tuple((name, counts[0], counts[1]) for name, counts in ranked[:_SHOWN]),
            forgotten=self._born.forgotten,
        )


def _key(asked: Asked, policy: CachePolicy) -> int:
    owner = asked.caller.principal
    if policy.scope is Scope.USER:
        owner = f"{owner}\x00{asked.request.end_user}"
    namespace = namespace_of(asked.request, Partition(policy.tenant, policy.scope, owner, "", UPSTREAM))
    return int(exact_key(namespace, asked.request)[:16], 16)


def _not_kept(row: LogRow, policy: CachePolicy) -> str | None:
    """Say why this answer would not be stored; a request with tools and an answer without text was answered by calls."""
    if row.failed:
        return "failed"
    calls = row.response is None and bool(row.body.get("tools") or row.body.get("functions"))
    return "tools" if calls and not policy.store_tool_calls else None
