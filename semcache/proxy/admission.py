"""Who may come in: authentication by the policies in force, and how many at a time.

The tenant comes from the key alone. A caller counts as local only when the connection itself is
from this machine, no proxy header says that it speaks for somebody else, and no browser says that
a page from elsewhere does.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from semcache.core import Caller
from semcache.errors import RequestError
from semcache.policy.snapshot import PolicySnapshot
from semcache.proxy.headers import RequestHeaders
from semcache.proxy.shares import place_of
from semcache.proxy.types import Scope

_MOST_KNOWN = 4096
_LONGEST_KNOWN = 2048
"""Characters: where strangers' keys pass through, anybody may send long ones."""
_LOOPBACK = ("127.", "::1", "::ffff:127.")
_FORWARDED = (b"x-forwarded-for", b"forwarded", b"x-real-ip", b"via")
_OURS = re.compile(
    rb"https?://(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?|(?!https?:|null)[a-z][a-z\d+.-]*://.*",
    re.I,
)
"""Origins of pages of this machine, and of programs that no page can pass for (`app://`, `vscode-webview://`)."""


class Admission:
    """Decides who a request belongs to, remembering those let in under the policies in force.

    Args:
        policies: gives the policy snapshot in force.
    """

    def __init__(self, policies: Callable[[], PolicySnapshot]) -> None:
        self._policies = policies
        self._known_under: PolicySnapshot | None = None
        self._known: dict[tuple[str | None, str | None, bool], Caller] = {}

    def caller(self, scope: Scope, headers: RequestHeaders) -> Caller:
        """Authenticate a request.

        Raises:
            RequestError: 401, the same text for a missing and a wrong key; 429, its tenant has half of all places, and
                others need the rest.
        """
        snapshot = self._policies()
        if snapshot is not self._known_under or len(self._known) >= _MOST_KNOWN:
            self._known_under = snapshot
            self._known.clear()
        told = (headers.authorization, headers.api_key, is_local(scope))
        caller = self._known.get(told)
        if caller is None:
            caller = snapshot.authenticate(*told)
            if len(told[0] or "") + len(told[1] or "") <= _LONGEST_KNOWN:
                self._known[told] = caller
        place = place_of(scope)
        if place is not None and len(snapshot.by_tenant) > 1:
            place.belong(caller.tenant)
        return caller


def is_local(scope: Scope) -> bool:
    """True when the caller is a process of this machine, speaking for itself."""
    client = scope.get("client")
    # The kernel wrote this address, in its shortest form.
    if client is None or not client[0].startswith(_LOOPBACK):
        return False
    for name, value in scope["headers"]:
        # A page of any site makes the browser on this machine send requests, and reads no answer; but it was asked.
        if name in _FORWARDED or (name == b"origin" and not _OURS.fullmatch(value)):
            return False
    return True


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
