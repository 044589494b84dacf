"""One proxy whose local engine answers, for all files here: a real model takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import namespace_of
from tests.e2e.running import Proxy, running


@pytest.fixture(scope="package")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with running(tmp_path_factory.mktemp("engine") / "data", SEMCACHE_PREWARM__WRITE_EVERY="0.5") as started:
        yield started


@pytest.fixture(autouse=True)
def counted(proxy: Proxy, request: pytest.FixtureRequest) -> None:
    """Each test in a namespace of its own (there is no upstream here whose calls could be counted)."""
    proxy.namespace = namespace_of(request)
