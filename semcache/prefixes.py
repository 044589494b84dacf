"""What a request to the local engine says beside the client's words: whose its beginning is.

Brings the policy's decision and the owners' names together, and counts heads that are worth
computing beforehand. The same code prepares a request and its prewarming, so that both have the
same beginning. Knows no wire and no store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from semcache.answer.heads import Reach, heads_of
from semcache.answer.owners import FIELD, SALT, Asker, Owners, Sharing, leading_system
from semcache.answer.warmbook import WarmBook
from semcache.core import CachePolicy, Caller, ChatRequest, Directives, Mode, Scope, TenantId
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Clock


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The proxy's side of prefix reuse.

    Args:
        owners: names tenants and users to the engine.
        book: counts heads; None: nothing is remembered.
        clock: time of sightings.
        later: runs a function when the request at hand is on its way, which must not wait for the counting.
    """

    owners: Owners
    book: WarmBook | None
    clock: Clock
    later: Callable[[Callable[[], None]], object]

    def prepared(
        self,
        request: ChatRequest,
        caller: Caller,
        directives: Directives,
        policy: CachePolicy,
        by: PolicySnapshot,
    ) -> dict[str, Any]:
        """Give the body for the engine, and count its heads.

        Args:
            request: as the client sent it.
            caller: who asks.
            directives: what the client asked of the cache.
            policy: what holds for this request.
            by: the snapshot that said so.
        """
        share = by.prefix(caller.tenant).share_for(policy, directives)
        sharing = Sharing(share, by.public.leading(request.body))
        apart = request.body.get(SALT)
        asker = Asker(
            caller.tenant,
            caller.principal,
            user=directives.user or request.end_user,
            apart=apart if isinstance(apart, str) else "",
        )
        marked = self.owners.marked(request.body, asker, sharing)
        keeps = share is not None and policy.store and policy.mode is not Mode.OFF and not directives.no_store
        if keeps and self.book is not None:
            reach = _reach(request.body, asker, sharing, marked[FIELD]["user"] or "")
            self.later(partial(self._count, self.book, asker.tenant, request.body, reach))
        return marked

    def _count(self, book: WarmBook, tenant: TenantId, body: Mapping[str, Any], reach: Reach) -> None:
        try:
            for head in heads_of(tenant, body, reach):
                book.note(head, self.clock.now())
        except TypeError:
            return  # text that is no Unicode: such a request is passed on, and nothing of it remembered

    def rebuilt(
        self, tenant: TenantId, owner: str, body: Mapping[str, Any], by: PolicySnapshot
    ) -> dict[str, Any] | None:
        """Give the body that computes a head for a tenant, by the policies of now.

        None when the tenant is gone or its prompts are not to be remembered any more. `owner` as in `heads.Head`.
        """
        if tenant not in by.by_tenant or by.prefix(tenant).share is None:
            return None
        marked = self.owners.marked(body, Asker(tenant), Sharing(Scope.TENANT, by.public.leading(body)))
        if owner:
            marked[FIELD] |= {"user": owner, "tenant_messages": 0}
        return marked


def _reach(body: Mapping[str, Any], asker: Asker, sharing: Sharing, owner: str) -> Reach:
    """Say how far a body may be remembered: never what belongs to one end user, or was set apart."""
    messages, public = body["messages"], sharing.public
    if asker.apart or (asker.principal and sharing.share is Scope.USER):
        return Reach(public, public)
    if sharing.share is Scope.USER:
        return Reach(max(public, leading_system(messages)), public)
    return Reach(len(messages), public, owner)
