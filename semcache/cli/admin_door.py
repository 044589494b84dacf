"""What a proxy and its admin process both know: the order that one gives the other, the listening socket, and who may in.

Kept apart from the pages themselves, which only the admin process loads.
"""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from semcache.errors import PolicyError
from semcache.review.access import Opened, Role, TokenSpec, open_tokens
from semcache.settings import Settings, resolve_secret

ORDER = "SEMCACHE_ADMIN_ORDER"
DEFAULT_PORT = 8081


def tokens_of(settings: Settings) -> Opened:
    """Give the tokens in force.

    Raises:
        PolicyError: a bad token, or none on an address that others can reach.
    """
    specs = [
        TokenSpec(token.name, resolve_secret(token.secret), Role(token.role), token.tenants)
        for token in settings.admin.tokens
    ]
    return open_tokens(specs, settings.admin.host, settings.data)


@dataclass(frozen=True, slots=True)
class AdminOrder:
    """What the child of a proxy is told: its parent's settings, the store, and the listening socket."""

    flags: dict[str, Any]
    store_url: str
    fd: int

    def dumps(self) -> str:
        """Give the order as text for the environment."""
        return json.dumps({"flags": self.flags, "store_url": self.store_url, "fd": self.fd})


def listen(settings: Settings, note: Callable[[str], None]) -> socket.socket:
    """Bind the admin listener; where nobody named a port and the usual one is taken, any free one, and say so.

    Raises:
        PolicyError: the address cannot be had.
    """
    named = settings.admin.port
    try:
        return _bound(settings.admin.host, DEFAULT_PORT if named is None else named)
    except OSError as error:
        if named is None and error.errno == errno.EADDRINUSE:
            note(
                f"port {DEFAULT_PORT} is taken; the review pages take a free one (name one with --admin-port)"
            )
            return _bound(settings.admin.host, 0)
        reason = os.strerror(error.errno) if error.errno else str(error)
        where = f"{settings.admin.host}:{DEFAULT_PORT if named is None else named}"
        raise PolicyError(
            f"cannot listen on {where} for review: {reason}; choose another port (admin.port), or set admin.enabled: false"
        ) from None


def _bound(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def ready_text(settings: Settings, listener: socket.socket) -> str:
    """Say where the review pages are; the link holds the token behind `#`, which no browser sends anywhere."""
    opened = open_tokens([], settings.admin.host, settings.data) if not settings.admin.tokens else None
    host = settings.admin.public_host or settings.admin.host
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{listener.getsockname()[1]}"
    link = f"{url}/login#token={opened.link}" if opened is not None else url
    return f"review answers on {link}"
