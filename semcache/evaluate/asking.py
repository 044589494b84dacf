"""A conversation becomes a request, by the way that a client's takes: bytes, dialect, directives.

So canonical text, system prompt, history and namespace are those of the product. Model, user and
temperature are the same in all requests.
"""

from __future__ import annotations

import orjson

from semcache.core import Caller, TenantId
from semcache.errors import RequestError, SemcacheError
from semcache.evaluate.rows import Messages
from semcache.journey import Asked
from semcache.policy.snapshot import TenantPolicies
from semcache.proxy.directives import directives_of
from semcache.proxy.recent import read_chat

UPSTREAM = "eval"
_USER = "eval"


def model_for(policies: TenantPolicies) -> str:
    """Name a model that the tenant may ask for."""
    allowed = policies.source.policy.models
    return (
        next((name.removesuffix("*") for name in allowed if name != "*"), UPSTREAM) if allowed else UPSTREAM
    )


def ask_of(messages: Messages, tenant: TenantId, model: str, namespace: str) -> Asked:
    """Make the request that a client of this tenant would send.

    Args:
        messages: the conversation.
        tenant: who asks.
        model: which model is asked for.
        namespace: what `Semcache-Namespace` says: only requests of one namespace can share answers.

    Raises:
        SemcacheError: the conversation is no chat request.
    """
    body = {"model": model, "messages": messages, "temperature": 0, "user": _USER}
    try:
        parsed = read_chat(orjson.dumps(body))
        directives = directives_of({b"semcache-namespace": namespace.encode()}, parsed.cache_object)
    except RequestError as error:
        raise SemcacheError(f"{namespace}: is no chat request: {error.message}") from None
    return Asked(parsed.request, Caller(tenant), directives, upstream=UPSTREAM)
