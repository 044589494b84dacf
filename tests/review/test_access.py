"""Tokens, roles, and addresses that try too often."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from semcache.core import TenantId
from semcache.errors import PolicyError
from semcache.review.access import (
    TOKEN_FILE,
    Reviewer,
    Role,
    Tokens,
    TokenSpec,
    Tries,
    kept_token,
    open_tokens,
)
from semcache.review.whatif import kappa, what_if
from semcache.review_port import Agreement, Decided

GOOD = "0123456789abcdef"


def spec(name: str = "a", secret: str = GOOD, tenants: tuple[str, ...] = ("*",)) -> TokenSpec:
    return TokenSpec(name, secret, Role.VIEWER, tenants)


def test_roles_and_tenants() -> None:
    reviewer = Reviewer("a", Role.REVIEWER, frozenset(("acme", "~public")))
    assert [reviewer.may(role) for role in Role] == [True, True, False]
    assert reviewer.sees(TenantId("acme"))
    assert not reviewer.sees(TenantId("other"))
    assert not reviewer.sees(TenantId("*"))
    assert not reviewer.sees(TenantId("~public")), "public answers are for who sees all"
    assert Reviewer("a", Role.VIEWER, frozenset("*")).sees(TenantId("~public"))


@pytest.mark.parametrize(
    "specs",
    [
        [spec(secret="short")], [spec(secret="x" * 600)], [spec(name="")], [spec(name="a\nb")], [spec(tenants=())],
        [spec(), spec(secret=GOOD[::-1])], [spec(), spec("b")],
    ],
)  # fmt: skip
def test_tokens_that_are_refused(specs: list[TokenSpec]) -> None:
    with pytest.raises(PolicyError, match=r"admin\.tokens") as caught:
        Tokens(specs)
    assert GOOD not in str(caught.value)


def test_finding_a_token() -> None:
    tokens = Tokens([spec(), spec("b", GOOD[::-1])])
    assert [found.name if (found := tokens.find(text)) else None for text in (GOOD, GOOD[::-1])] == ["a", "b"]
    for wrong in ("", GOOD[:-1], GOOD + "x", GOOD.upper(), "x" * 10_000, "\ud800" * 20):
        assert tokens.find(wrong) is None


def test_a_token_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    opened = open_tokens([], "127.0.0.1", tmp_path / "data")
    path = tmp_path / "data" / TOKEN_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(opened.link) >= 40
    assert open_tokens([], "localhost", tmp_path / "data").link == opened.link
    found = opened.tokens.find(opened.link)
    assert found is not None
    assert (found.role, found.sees(TenantId("any"))) == (Role.OPERATOR, True)
    assert [one.name for one in path.parent.iterdir()] == [TOKEN_FILE], "no draft is left behind"


def test_two_processes_that_begin_at_once_have_one_token(tmp_path: Path) -> None:
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(kept_token(tmp_path / "t"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_kept_tokens_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for content, mode in (
        ("short", 0o600),
        ("", 0o600),
        ("x" * 600, 0o600),
        (GOOD, 0o644),
        (GOOD, 0o640),
        ("é" * 20, 0o600),
    ):
        path.unlink(missing_ok=True)
        path.write_text(content)
        path.chmod(mode)
        with pytest.raises(PolicyError):
            kept_token(path)
    path.unlink()
    (tmp_path / "real").write_text(GOOD)
    path.symlink_to(tmp_path / "real")
    with pytest.raises(PolicyError):
        kept_token(path)
    with pytest.raises(PolicyError):
        kept_token(tmp_path / "real" / "below")


def test_exposed_without_a_token_is_refused(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "10.0.0.1", "review.example"):
        with pytest.raises(PolicyError, match="refusing"):
            open_tokens([], host, tmp_path)
    assert not list(tmp_path.iterdir())
    assert open_tokens([spec()], "0.0.0.0", tmp_path).link == ""


def test_tries_wait_twice_as_long_each_time_and_are_forgotten() -> None:
    now = [0.0]
    tries = Tries(lambda: now[0], free=2, longest=60.0)
    waits = []
    for _ in range(12):
        tries.failed("a")
        waits.append(tries.wait("a"))
    assert waits == [0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert tries.wait("b") == 0
    now[0] = 59.0
    assert tries.wait("a") == 1.0
    now[0] = 60.0
    assert tries.wait("a") == 0
    tries.failed("a")
    assert tries.wait("a") == 0
    for number in range(20_000):
        tries.failed(str(number))
    assert len(tries._failed) <= 10_000


def test_what_if_counts() -> None:
    made = [
        Decided(10, 0.95, 0.9, "semantic", wrong=False),
        Decided(20, 0.90, 0.9, "semantic", wrong=True),
        Decided(30, 0.85, 0.9, "draft"),
        Decided(40, 0.96, 0.2, "miss"),
        Decided(50, 0.97, None, "shadow", wrong=True),
    ]
    strict, loose = what_if(made, 0.94, 0.5), what_if(made, 0.8, 0.0)
    assert (strict.would, strict.served, strict.more, strict.less) == (2, 2, 1, 1)
    assert (strict.judged, strict.wrong, strict.share) == (2, 1, 0.5)
    assert (loose.would, loose.more, loose.less, loose.judged, loose.wrong) == (5, 3, 0, 3, 2)
    assert strict.interval[0] < 0.5 < strict.interval[1]
    empty = what_if([], 0.9, 0.5)
    assert (empty.would, empty.share, empty.interval, empty.since) == (0, None, (0.0, 1.0), None)


@pytest.mark.parametrize(
    ("table", "value"),
    [
        (Agreement(20, 5, 10, 15), 0.4),  # Cohen 1960 as usually worked: 0.7 agreed, 0.5 by chance
        (Agreement(10, 0, 0, 10), 1.0),
        (Agreement(0, 5, 5, 0), -1.0),
        (Agreement(5, 5, 5, 5), 0.0),
        (Agreement(9, 0, 0, 0), None),
        (Agreement(), None),
    ],
)
def test_kappa(table: Agreement, value: float | None) -> None:
    assert kappa(table) == (pytest.approx(value) if value is not None else None)
