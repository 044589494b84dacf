"""What a policy may name: upstreams of the configuration, wherever it names one."""

from __future__ import annotations

from pathlib import Path

import pytest

from semcache.errors import PolicyError
from semcache.parts import upstreams_known
from semcache.policy.loader import load_directory
from semcache.settings import load_settings

POLICY = """schema_version: 1
tenant: acme
access: {{keys: [], anonymous: loopback}}
{upstream}
default_domain: chat
domains:
  chat:
    mode: semantic
    threshold: 0.9
    {knob}
classifier: {{enabled: false}}
"""


def check(tmp_path: Path, knob: str = "ttl: 1h", upstream: str = "") -> None:
    (tmp_path / "acme.yaml").write_text(POLICY.format(knob=knob, upstream=upstream))
    settings = load_settings({"upstreams": {"small": {"base_url": "http://127.0.0.1:1/v1"}}})
    upstreams_known(settings)(load_directory(tmp_path))


@pytest.mark.parametrize("name", ["small", "small/model-1"])
@pytest.mark.parametrize("knob", ["drafts: {{reviser: {}}}", "review: {{judge: {}}}", "audit: {{judge: {}}}"])
def test_an_upstream_that_exists_may_be_named(tmp_path: Path, knob: str, name: str) -> None:
    check(tmp_path, knob.format(name), "upstream: small")


@pytest.mark.parametrize(
    "knob", ["drafts: {reviser: tall/m}", "review: {judge: tall}", "audit: {judge: tall}"]
)
def test_one_that_does_not_is_told_with_its_line(tmp_path: Path, knob: str) -> None:
    with pytest.raises(PolicyError, match=r"acme\.yaml:10: .*'tall'; it has: small"):
        check(tmp_path, knob)


def test_so_is_the_upstream_that_answers(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"acme\.yaml:4: upstream: .*'tall'"):
        check(tmp_path, upstream="upstream: tall")
