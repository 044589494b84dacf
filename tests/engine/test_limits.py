"""Limits of tenants on the command line: read as written, refused when they mean nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from semcache.cli.commands import app
from semcache.engine.launch import EngineSpec
from semcache.engine.limits import TenantLimit, read_limit


@given(
    st.text("abcdef0123456789", min_size=1, max_size=64),
    st.integers(0, 10**9),
    st.none() | st.integers(1, 10**9),
)
def test_what_is_written_is_read(tenant: str, floor: int, more: int | None) -> None:
    limit = TenantLimit(tenant, floor, None if more is None else floor + more)
    assert read_limit(str(limit)) == limit


@pytest.mark.parametrize(
    "text", ["", "a", "a=", "a=1", "a=:1", "a=-1:2", "a=2:1", "a=0:0", "=1:2", "a b=1:2", "a=1:2:3"]
)
def test_what_means_nothing(text: str) -> None:
    with pytest.raises(ValueError, match="should be"):
        read_limit(text)


def test_the_child_is_started_with_them() -> None:
    spec = EngineSpec(Path("m"), Path("d"), limits=(TenantLimit("a", 10, 20), TenantLimit("b", 5)))
    arguments = spec.arguments(Path("s"))
    assert "--share=a=10:20" in arguments
    assert "--share=b=5:" in arguments


@pytest.mark.parametrize("shares", [["--share=a"], ["--share=a=1:2", "--share=a=1:2"]])
def test_the_command_refuses_nonsense(shares: list[str]) -> None:
    ended = CliRunner().invoke(app, ["engine", "--model=nowhere", "--port=0", *shares])
    assert ended.exit_code == 2
