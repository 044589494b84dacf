"""Callers are remembered, so many and so long ones; who was let in under other policies is not."""

from __future__ import annotations

from typing import Any

from semcache.core import Caller, TenantId
from semcache.proxy.admission import Admission
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
