"""One running proxy with its review listener, for whatever is thrown at it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import answering
from tests.e2e.running import Proxy, running
from tests.e2e.test_review import Admin, admin_of
from tests.fakes.upstream_server import ByRequest, in_thread


@pytest.fixture(scope="package")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with (
        in_thread(ByRequest(answering)) as upstream,
        running(
            tmp_path_factory.mktemp("fuzz") / "data", "--upstream", upstream.url, "--admin-port", "0"
        ) as started,
    ):
        for question in ("What is red?", "What is blue?"):
            started.chat(question)
        yield started


@pytest.fixture(scope="package")
def admin(proxy: Proxy) -> Admin:
    return admin_of(proxy)
