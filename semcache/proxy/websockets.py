"""Websockets are not proxied: whoever tries is told so, in HTTP and before any handshake.

Realtime APIs hold state in their connection; there is nothing in them to reuse.
"""

from __future__ import annotations

from semcache.errors import RequestError
from semcache.proxy.errors import error_reply
from semcache.proxy.types import Receive, Scope, Send

_REFUSED_CODE = 1008
"""Policy violation (RFC 6455 section 7.4.1), for servers that cannot answer a handshake in HTTP."""


def wants_upgrade(scope: Scope) -> bool:
    """True for a websocket's handshake that came as a plain request."""
    return any(name == b"upgrade" and b"websocket" in value.lower() for name, value in scope["headers"])


def no_websockets() -> RequestError:
    """Give the refusal."""
    return RequestError(
        "Websockets are not proxied. Use the HTTP endpoints, or connect to the API itself.",
        status=501,
        code="websockets_unsupported",
    )


async def refuse_websocket(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a websocket that a server has announced as one."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": _REFUSED_CODE})
        return
    status, head, body = error_reply(no_websockets(), "")
    await send({"type": "websocket.http.response.start", "status": status, "headers": head})
    await send({"type": "websocket.http.response.body", "body": body})
