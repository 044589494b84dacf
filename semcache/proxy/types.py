"""The few shapes of ASGI that the proxy speaks (asgiref specification, HTTP)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from semcache.dialects.dialect import Dialect

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Endpoint = Callable[[Scope, Receive, Send], Awaitable[None]]

Answering = Callable[[Dialect, Scope, Receive, Send], Awaitable[None]]
"""An endpoint that is told what its client speaks."""
