"""Callers are remembered, so many and so long ones; who was let in under other policies is not."""

from __future__ import annotations

from typing import Any

import pytest

from semcache.core import Caller, TenantId
from semcache.proxy.admission import Admission, is_local
from semcache.proxy.headers import read_request_headers

SCOPE: dict[str, Any] = {"type": "http", "client": ("10.0.0.9", 1), "headers": []}


class Policies:
    """Let everybody in, and count how often they were asked."""

    def __init__(self) -> None:
        self.asked = 0

    def authenticate(self, authorization: str | None, api_key: str | None, loopback: bool) -> Caller:
        self.asked += 1
        return Caller(TenantId("acme"), principal=str(authorization))


def told(key: str) -> Any:
    return read_request_headers([(b"authorization", f"Bearer {key}".encode())], None)


def test_a_caller_is_looked_up_once_and_a_long_key_each_time() -> None:
    policies = Policies()
    admission = Admission(lambda: policies)  # type: ignore[arg-type,return-value]  # only asked who it is
    for _ in range(3):
        assert admission.caller(SCOPE, told("short")).principal == "Bearer short"
    assert policies.asked == 1
    for _ in range(3):
        admission.caller(SCOPE, told("x" * 3000))
    assert policies.asked == 4, "nobody fills the memory with keys"


def test_many_strangers_are_not_all_remembered() -> None:
    policies = Policies()
    admission = Admission(lambda: policies)  # type: ignore[arg-type,return-value]  # only asked who it is
    for number in range(5000):
        admission.caller(SCOPE, told(f"k{number}"))
    before = policies.asked
    admission.caller(SCOPE, told("k0"))
    assert policies.asked == before + 1


@pytest.mark.parametrize(
    ("origin", "local"),
    [
        (None, True),
        (b"http://localhost:3000", True),
        (b"http://127.0.0.1", True),
        (b"https://[::1]:8443", True),
        (b"app://obsidian.md", True),
        (b"vscode-webview://abc", True),
        (b"https://evil.example", False),
        (b"http://evil.example:8080", False),
        (b"http://localhost.evil.example", False),
        (b"http://127.0.0.1.evil.example:8080", False),
        (b"http://localhost@evil.example", False),
        (b"HTTPS://EVIL.EXAMPLE", False),
        (b"null", False),
        (b"null://x", False),
        (b"", False),
    ],
)
def test_a_page_from_elsewhere_is_not_of_this_machine(origin: bytes | None, local: bool) -> None:
    headers = [(b"host", b"127.0.0.1:8080"), *([(b"origin", origin)] if origin is not None else [])]
    assert is_local({"type": "http", "client": ("127.0.0.1", 1), "headers": headers}) is local
    assert not is_local({"type": "http", "client": ("10.0.0.9", 1), "headers": headers})
