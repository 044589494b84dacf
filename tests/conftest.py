"""Fixtures that every test shares, and the markers for what not every run has."""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import settings

from tests.spreading import rank_of, scheduler_of

# A busy machine is no defect: what bounds a test is its timeout.
settings.register_profile("semcache", deadline=None)
settings.load_profile("semcache")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the heavy tests too")
    parser.addoption("--clients", action="store_true", help="run the official clients (see scripts/clients)")


def pytest_configure() -> None:
    # Dozens of processes import the same files: compiled anew by each of them they cost a minute of a core.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return scheduler_of(config, log)


def has_cuda() -> bool:
    return any(Path("/dev").glob("nvidia[0-9]*"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: rank_of(item.nodeid))
    gpu = has_cuda()
    for item in items:
        if "gpu" in item.keywords and not gpu:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))
        if "slow" in item.keywords and not config.getoption("--slow"):
            item.add_marker(pytest.mark.skip(reason="heavy: run with --slow"))
        if item.get_closest_marker("clients") and not config.getoption("--clients"):
            item.add_marker(pytest.mark.skip(reason="official clients: run ./scripts/clients"))


@pytest.fixture(autouse=True)
def logs_as_they_were() -> Iterator[None]:
    """Undo what a command did to the logs of its process: its streams are closed when its test ends."""
    handlers = list(logging.root.handlers)
    yield
    structlog.reset_defaults()
    for handler in logging.root.handlers[:]:
        if handler not in handlers:
            logging.root.removeHandler(handler)


@pytest.fixture(autouse=True)
def no_config_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo a command's `--config`, which it hands on to its children by the environment."""
    monkeypatch.setenv("SEMCACHE_CONFIG", "")
    monkeypatch.delenv("SEMCACHE_CONFIG")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Run a test without the garbage collector: what is gone then is gone by itself."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
