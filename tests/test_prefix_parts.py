"""The installation's secret: made once, the same for all, readable by nobody else, and refused when it is no secret."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from semcache.answer.owners import Owners
from semcache.core import TenantId
from semcache.engine.limits import TenantLimit
from semcache.errors import PolicyError
from semcache.policy.loader import load_directory
from semcache.prefix_parts import OWNERS_FILE, engine_limits, installation_secret
from semcache.settings import Settings


def secret(data: Path, reference: str | None = None) -> bytes:
    return installation_secret(Settings(data=data, engine={"secret": reference}))  # type: ignore[arg-type] # validated


def test_it_is_made_once_and_kept(tmp_path: Path) -> None:
    data = tmp_path / "not" / "there"
    first = secret(data)
    assert len(first) == 32
    assert secret(data) == first
    assert (data / OWNERS_FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in data.iterdir()] == [OWNERS_FILE]
    assert secret(tmp_path / "other") != first


def test_all_who_make_it_at_once_have_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(lambda _: secret(tmp_path), range(64)))) == 1


def test_a_file_that_was_opened_to_others_is_closed(tmp_path: Path) -> None:
    first = secret(tmp_path)
    (tmp_path / OWNERS_FILE).chmod(0o644)
    assert secret(tmp_path) == first
    assert (tmp_path / OWNERS_FILE).stat().st_mode & 0o777 == 0o600


def test_a_configured_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWNERS", "x" * 32)
    one = secret(tmp_path, "env:OWNERS")
    assert one == secret(tmp_path / "elsewhere", "env:OWNERS")
    assert not (tmp_path / OWNERS_FILE).exists()
    monkeypatch.setenv("OWNERS", "short")
    with pytest.raises(PolicyError, match="at least 32 characters") as refused:
        secret(tmp_path, "env:OWNERS")
    assert "short" not in str(refused.value).replace("too short", "")


@pytest.mark.parametrize("content", ["", "abc\n", "\n" * 99])
def test_a_damaged_file_is_refused_and_not_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / OWNERS_FILE).write_text(content)
    with pytest.raises(PolicyError, match="damaged"):
        secret(tmp_path)
    assert (tmp_path / OWNERS_FILE).read_text() == content


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    (tmp_path / OWNERS_FILE).mkdir()
    with pytest.raises(PolicyError, match="neither read nor made"):
        secret(tmp_path)


def test_limits_of_tenants_under_the_names_that_requests_give(tmp_path: Path) -> None:
    policy = "schema_version: 1\ntenant: {}\ndefault_domain: chat\ndomains: {{chat: {{mode: exact}}}}\nprefix: {}\n"
    for name, knobs in (("a", "{reserve_tokens: 10}"), ("b", "{max_tokens: 7}"), ("c", "{share: none}")):
        (tmp_path / f"{name}.yaml").write_text(policy.format(name, knobs))
    limits = engine_limits(Settings(data=tmp_path / "data"), load_directory(tmp_path))
    name = Owners(secret(tmp_path / "data")).tenant
    assert limits == (TenantLimit(name(TenantId("a")), 10), TenantLimit(name(TenantId("b")), 0, 7))
