"""Who a caller is: keys, strangers, nameless ones, and hostile headers."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import Caller
from semcache.errors import RequestError
from semcache.policy.access import hash_key
from semcache.policy.snapshot import PolicySnapshot
from tests.policy.samples import MINIMAL, snapshot


def tenant(name: str, access: str) -> str:
    return MINIMAL.replace("acme", name) + f"access: {access}\n"


def key(name: str, value: str) -> str:
    return f"{{name: {name}, hash: '{hash_key(value)}'}}"


CLOSED = snapshot(
    tenant("one", f"{{keys: [{key('web', 'key-1')}]}}"), tenant("two", f"{{keys: [{key('app', 'key-2')}]}}")
)
OPEN = snapshot(
    tenant("one", f"{{keys: [{key('web', 'key-1')}]}}"),
    tenant("default", "{anonymous: loopback, unknown_keys: passthrough}"),
)


def refusal(
    snapshot: PolicySnapshot, authorization: str | None, api_key: str | None = None, loopback: bool = False
) -> RequestError:
    with pytest.raises(RequestError) as caught:
        snapshot.authenticate(authorization, api_key, loopback)
    return caught.value


@pytest.mark.parametrize("authorization", ["Bearer key-1", "bearer key-1", "BEARER  key-1 ", " Bearer key-1"])
def test_a_known_key_names_tenant_and_key_and_is_not_sent_on(authorization: str) -> None:
    assert CLOSED.authenticate(authorization, None, False) == Caller("one", key_name="web")
    assert CLOSED.authenticate(None, "key-2", False) == Caller("two", key_name="app")


def test_has_keys() -> None:
    assert CLOSED.has_keys
    assert not snapshot(MINIMAL).has_keys


HOSTILE = [
    None, "", "Bearer", "Bearer ", "key-1", "Basic a2V5LTE=", "Bearer key-", "Bearer key-11", "Bearer KEY-1", "Bearer key-1\r\nX: y",
    "Bearer ' OR 1=1 --", "Bearer \x00", "Bearer kéy", "Bearer \udcff\udc00", "Bearer " + "k" * 1_000_000, "Bearer key-1 key-2",
    "Token key-1", "Bearer\tkey-1", "Bearer sha256:" + hashlib.sha256(b"key-1").hexdigest(), "Bearer 钥匙", "=" * 70_000,
]  # fmt: skip


@pytest.mark.parametrize("authorization", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("loopback", [True, False])
def test_everything_else_is_refused_with_one_text(authorization: str | None, loopback: bool) -> None:
    error = refusal(CLOSED, authorization, None, loopback)
    usual = refusal(CLOSED, "Bearer wrong")
    assert (error.status, error.type, error.code) == (401, "authentication_error", "invalid_api_key")
    assert (error.message, error.headers, str(error)) == (usual.message, usual.headers, str(usual))


def test_keys_of_two_tenants_in_one_request_are_refused() -> None:
    assert refusal(CLOSED, "Bearer key-1", "key-2").status == 401
    assert CLOSED.authenticate("Bearer key-1", "key-1", False).tenant == "one"
    assert CLOSED.authenticate("Bearer other", "key-1", False) == Caller("one", key_name="web")


def test_nameless_callers_are_let_in_from_this_machine_only() -> None:
    assert OPEN.authenticate(None, None, True) == Caller("default")
    assert OPEN.authenticate("Bearer ", "", True) == Caller("default")
    assert refusal(OPEN, None, None, False).status == 401


def test_a_strangers_key_passes_into_a_partition_of_its_own() -> None:
    first = OPEN.authenticate("Bearer sk-a", None, False)
    assert (first.tenant, first.key_name, first.authorization) == ("default", "", "Bearer sk-a")
    assert len(first.principal) == 64
    assert "sk-a" not in first.principal
    assert first.principal != hashlib.sha256(b"sk-a").hexdigest()
    assert OPEN.authenticate("bearer  sk-a", None, True).principal == first.principal
    others = [
        OPEN.authenticate("Bearer sk-b", None, False),
        OPEN.authenticate("Bearer SK-A", None, False),
        OPEN.authenticate("Basic sk-a", None, False),
        OPEN.authenticate("Bearer sk-a", "x", False),
        OPEN.authenticate(None, "sk-a", False),
    ]
    assert len({first.principal, *(other.principal for other in others)}) == 6


def test_a_key_in_the_other_header_is_sent_on_as_bearer() -> None:
    assert OPEN.authenticate(None, "sk-a", False).authorization == "Bearer sk-a"
    assert OPEN.authenticate("Bearer", "sk-a", False).authorization == "Bearer sk-a"


@pytest.mark.parametrize(
    "header",
    ["Bearer a\r\nb", "Bearer \x00", "Bearer é", "Bearer " + "k" * 8192, "Bearer a\x7f", "Bearer \udcff"],
)
def test_a_strangers_header_that_is_no_clean_header_is_refused(header: str) -> None:
    assert refusal(OPEN, header).message == refusal(CLOSED, None).message
    assert refusal(OPEN, None, header).message == refusal(CLOSED, None).message


def test_a_known_key_is_never_passed_on_by_the_open_tenant() -> None:
    assert OPEN.authenticate("Bearer key-1", None, True) == Caller("one", key_name="web")


def test_a_wrong_key_is_not_a_nameless_caller() -> None:
    strict = snapshot(tenant("default", "{anonymous: loopback}"))
    assert refusal(strict, "Bearer wrong", None, True).status == 401


headers = st.none() | st.text(max_size=40) | st.text(max_size=20).map("Bearer {}".format)


@given(headers, headers, st.booleans(), st.sampled_from([CLOSED, OPEN]))
def test_any_headers_give_a_caller_or_the_one_refusal(
    authorization: str | None, api_key: str | None, loopback: bool, policies: PolicySnapshot
) -> None:
    try:
        caller = policies.authenticate(authorization, api_key, loopback)
    except RequestError as error:
        status = error.status
    else:
        status = 200
        assert caller.tenant in policies.tenants
        assert caller.authorization is None or (
            caller.authorization.isascii() and caller.authorization.isprintable()
        )
        assert bool(caller.principal) == (caller.authorization is not None)
    assert status in (200, 401)
