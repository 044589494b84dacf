"""Who may come in: authentication by the policies in force, and how many at a time.

The tenant comes from the key alone. A caller counts as local only when the connection itself is
from this machine and no proxy header says that it speaks for somebody else.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass

from semcache.core import Caller
from semcache.errors import RequestError
from semcache.policy.snapshot import PolicySnapshot
from semcache.proxy.headers import RequestHeaders
from semcache.proxy.types import Scope

_FORWARDED = (b"x-forwarded-for", b"forwarded", b"x-real-ip", b"via")


@dataclass(frozen=True, slots=True)
class Admission:
    """Decides who a request belongs to.

    Args:
        policies: gives the policy snapshot in force.
    """

    policies: Callable[[], PolicySnapshot]

    def caller(self, scope: Scope, headers: RequestHeaders) -> Caller:
        """Authenticate a request.

        Raises:
            RequestError: 401, the same text for a missing and a wrong key.
        """
        return self.policies().authenticate(headers.authorization, headers.api_key, is_local(scope))


def is_local(scope: Scope) -> bool:
    """True when the caller is a process of this machine, speaking for itself."""
    client = scope.get("client")
    if client is None:
        return False
    try:
        loopback = ipaddress.ip_address(client[0]).is_loopback
    except ValueError:
        return False
    return loopback and not any(name in _FORWARDED for name, _ in scope["headers"])


def refuse_encoding(headers: RequestHeaders) -> None:
    """Refuse compressed request bodies: a small one may unpack to any size.

    Raises:
        RequestError: 415.
    """
    encoding = headers.content_encoding
    if encoding is not None and encoding.strip().lower() not in (b"", b"identity"):
        raise RequestError(
            "Compressed request bodies are not accepted.", status=415, code="unsupported_encoding"
        )
