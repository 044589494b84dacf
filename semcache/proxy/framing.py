"""Which request heads are refused before anybody looks at them, though the parser reads them. Pure.

What two programs in a row could read in two ways is refused, not mended (RFC 9112 sections 2.5, 3.2, 3.3, 6.1, 11.2).
Knows nothing of sockets, tenants or routes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_HOST = re.compile(rb"[A-Za-z0-9\-._~!$&'()*+,;=%:\[\]]*")
_VERSIONS = ("1.0", "1.1")


def flaw_of(version: str, target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> str | None:
    """Say what is wrong with a head; None: nothing.

    Args:
        version: of HTTP, such as `1.1`.
        target: as it stands in the request line.
        headers: with names in lower case.
    """
    if version not in _VERSIONS:
        return "This HTTP version is not spoken here."
    if not target.startswith(b"/"):
        return "The request target must be a path: this is no forward proxy."
    if b"#" in target:
        return "The request target holds a fragment."
    return _flaw_of_host(version, headers) or _flaw_of_coding(version, headers)


def _flaw_of_host(version: str, headers: Sequence[tuple[bytes, bytes]]) -> str | None:
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) > 1 or (not hosts and version == "1.1"):
        return "The request must name its host once."
    if hosts and not _HOST.fullmatch(hosts[0].strip()):
        return "The Host header is none."
    return None


def _flaw_of_coding(version: str, headers: Sequence[tuple[bytes, bytes]]) -> str | None:
    for name, value in headers:
        if name == b"transfer-encoding" and (version == "1.0" or value.strip().lower() != b"chunked"):
            return "The only transfer coding is chunked, in HTTP/1.1."
    return None
