"""Whose a prompt's parts are: layers by role and sharing, names that nobody can spell, words that are removed."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.answer.owners import Asker, Owners, Sharing, leading_system
from semcache.core import Scope, TenantId

SECRET = b"s" * 32
ACME = TenantId("acme")
SYSTEM = {"role": "system", "content": "Be brief."}
DEVELOPER = {"role": "developer", "content": "Use tables."}
USER = {"role": "user", "content": "Hello?"}
TENANT, PERSON = Scope.TENANT, Scope.USER


def owners() -> Owners:
    numbers = itertools.count()
    return Owners(SECRET, lambda: f"nobody-{next(numbers)}")


def layers(messages: list[Any], asker: Asker, sharing: Sharing) -> tuple[str, int, int]:
    """Give (whose the tail is, public messages, the tenant's messages)."""
    made = owners()
    told = made.extension(messages, asker, sharing)
    assert told["tenant"] == made.tenant(asker.tenant)
    user = told["user"]
    tail = "tenant" if user is None else "nobody" if user.startswith("nobody") else "own"
    return tail, told["public_messages"], told["tenant_messages"]


@pytest.mark.parametrize(
    ("messages", "asker", "sharing", "expected"),
    [
        ([SYSTEM, USER], Asker(ACME), Sharing(TENANT), ("tenant", 0, 1)),
        ([SYSTEM, DEVELOPER, USER], Asker(ACME), Sharing(TENANT, 1), ("tenant", 1, 1)),
        ([SYSTEM, USER, SYSTEM, USER], Asker(ACME), Sharing(TENANT), ("tenant", 0, 1)),
        ([USER], Asker(ACME), Sharing(TENANT), ("tenant", 0, 0)),
        # A public document behind the system messages: nothing is the tenant's alone.
        ([SYSTEM, USER, USER], Asker(ACME), Sharing(TENANT, 2), ("tenant", 2, 0)),
        ([SYSTEM, USER], Asker(ACME, user="u"), Sharing(TENANT), ("tenant", 0, 1)),
        ([SYSTEM, USER], Asker(ACME, user="u"), Sharing(PERSON), ("own", 0, 1)),
        ([SYSTEM, USER], Asker(ACME), Sharing(PERSON), ("nobody", 0, 1)),
        ([SYSTEM, USER], Asker(ACME, user="u"), Sharing(None, 1), ("nobody", 1, 0)),
        ([SYSTEM, USER], Asker(ACME), Sharing(None), ("nobody", 0, 0)),
        # A stranger whose key is only passed through, and a client that sets itself apart.
        ([SYSTEM, USER], Asker(ACME, "f" * 64), Sharing(TENANT), ("own", 0, 0)),
        ([SYSTEM, USER], Asker(ACME, "f" * 64), Sharing(TENANT, 1), ("own", 1, 0)),
        ([SYSTEM, USER], Asker(ACME, apart="w"), Sharing(TENANT), ("own", 0, 0)),
        ([SYSTEM, USER], Asker(ACME, "f" * 64, "u"), Sharing(PERSON), ("own", 0, 0)),
        ([SYSTEM, USER], Asker(ACME, "f" * 64), Sharing(PERSON), ("nobody", 0, 0)),
    ],
)
def test_layers(messages: list[Any], asker: Asker, sharing: Sharing, expected: tuple[str, int, int]) -> None:
    assert layers(messages, asker, sharing) == expected


def test_what_nobody_may_reuse_has_another_owner_each_time() -> None:
    made = Owners(SECRET)
    names = {made.extension([USER], Asker(ACME), Sharing(None))["user"] for _ in range(3)}
    assert len(names) == 3


words = st.text(max_size=8)
askers = st.builds(Asker, words.map(TenantId), words, words, words)


@given(askers, askers, st.sampled_from([TENANT, PERSON]))
def test_two_askers_share_only_where_all_that_counts_is_equal(one: Asker, other: Asker, share: Scope) -> None:
    made = owners()
    mine, theirs = (made.extension([SYSTEM, USER], asker, Sharing(share)) for asker in (one, other))
    assert (mine["tenant"] == theirs["tenant"]) == (one.tenant == other.tenant)
    if mine["user"] is not None and mine["user"] == theirs["user"]:
        person = (one.user, other.user) if share is PERSON else ("", "")
        assert (one.tenant, one.principal, one.apart) == (other.tenant, other.principal, other.apart)
        assert person[0] == person[1]


@given(words, words, words)
def test_words_do_not_run_into_one_another(a: str, b: str, c: str) -> None:
    made = owners()
    one = made.extension([USER], Asker(TenantId(a + b), user=c), Sharing(PERSON))
    other = made.extension([USER], Asker(TenantId(a), user=b + c), Sharing(PERSON))
    assert (one == other) == (not b) or not c


def test_names_depend_on_the_secret_and_on_nothing_else() -> None:
    assert Owners(SECRET).tenant(ACME) == Owners(SECRET).tenant(ACME)
    assert Owners(SECRET).tenant(ACME) != Owners(b"t" * 32).tenant(ACME)
    assert len(bytes.fromhex(Owners(SECRET).tenant(ACME))) == 32
    assert "acme" not in str(owners().marked({"messages": [USER]}, Asker(ACME, user="ann"), Sharing(PERSON)))


def test_a_users_name_is_no_tenants_name() -> None:
    made = owners()
    told = made.extension([USER], Asker(ACME, user="acme"), Sharing(PERSON))
    assert told["user"] != told["tenant"]


def test_what_the_client_says_of_owners_is_replaced() -> None:
    theirs = {"tenant": owners().tenant(TenantId("other")), "public_messages": 9}
    body = {"model": "m", "messages": [SYSTEM, USER], "prefix_cache": theirs, "cache_salt": "x", "seed": 1}
    told = owners().marked(body, Asker(ACME), Sharing(TENANT))
    assert told["prefix_cache"]["tenant"] == owners().tenant(ACME)
    assert told["prefix_cache"]["public_messages"] == 0
    assert "cache_salt" not in told
    assert {name: told[name] for name in ("model", "messages", "seed")} == {
        "model": "m",
        "messages": [SYSTEM, USER],
        "seed": 1,
    }
    assert body["prefix_cache"] is theirs


def test_names_that_are_no_unicode() -> None:
    one, other = (
        owners().extension([USER], Asker(ACME, user=name), Sharing(PERSON))["user"]
        for name in ("\ud800", "\ud801")
    )
    assert one != other


def test_leading_system_messages() -> None:
    assert leading_system([SYSTEM, DEVELOPER, USER, SYSTEM]) == 2
    assert leading_system([SYSTEM]) == 1
    assert leading_system([USER]) == 0
