"""Served engines and small models for the tests of this room."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import openai
import pytest
import torch
import uvicorn
from hypothesis import settings

from semcache.engine.hosting import EngineHost, Load
from semcache.engine.listening import port_listener
from semcache.engine.model.loading import LoadedModel
from semcache.engine.server import create_app
from tests.engine.tiny import engine_of, runner_of, tiny_model

# Examples are timed by the wall clock, which a busy machine disturbs.
settings.register_profile("engine", deadline=None)
settings.load_profile("engine")

MODEL_NAME = "SmolLM2-135M-Instruct"


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny() -> LoadedModel:
    return tiny_model()


@pytest.fixture(scope="session")
def real_folder() -> Path:
    """The real model's folder; the test script fetches it, so its absence is a failure."""
    models = os.environ.get("SEMCACHE_TEST_MODELS") or Path(__file__).parents[2] / "semcache-data" / "models"
    folder = Path(models) / MODEL_NAME
    if not (folder / "config.json").exists():
        pytest.fail(f"{folder} is missing: run `semcache models fetch` or set SEMCACHE_TEST_MODELS")
    return folder


class Served:
    """A server on a loopback port in a thread."""

    def __init__(self, host: EngineHost, port: int, failed: threading.Event) -> None:
        self.host = host
        self.url = f"http://127.0.0.1:{port}"
        self.failed = failed

    def sdk(self, **options: object) -> openai.OpenAI:
        fields = {
            "base_url": f"{self.url}/v1",
            "api_key": "none",
            "max_retries": 0,
            "timeout": 30.0,
            **options,
        }
        return openai.OpenAI(**fields)

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.url + path, timeout=30.0)

    def post(self, content: bytes, **headers: str) -> httpx.Response:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        named.setdefault("content-type", "application/json")
        return httpx.post(f"{self.url}/v1/chat/completions", content=content, headers=named, timeout=30.0)

    def wait_ready(self) -> None:
        eventually(lambda: self.get("/readyz").status_code == 200)

    def active(self) -> int:
        return int(self.get("/readyz").json()["active"])


def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.02)


@contextlib.contextmanager
def served(load: Load, *, max_body: int = 1 << 20) -> Iterator[Served]:
    failed = threading.Event()
    host = EngineHost(load)
    app = create_app(host, ("local", "alias"), max_body=max_body, on_failure=failed.set)
    config = uvicorn.Config(app, loop="asyncio", log_config=None, timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    with port_listener("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        found = Served(host, listener.getsockname()[1], failed)
        eventually(lambda: server.started)
        try:
            yield found
        finally:
            server.should_exit = True
            thread.join(20)
    assert not thread.is_alive()


@contextlib.contextmanager
def served_model(
    model: LoadedModel, *, max_active: int = 8, max_queue: int = 64, **limits: int
) -> Iterator[Served]:
    def load(stage: Callable[[str], None]):
        runner = runner_of(model, max_active=max_active, max_queue=max_queue)
        return engine_of(model, runner, temperature=1.0)

    with served(load, **limits) as found:
        found.wait_ready()
        yield found


@pytest.fixture(scope="module")
def tiny_server(tiny: LoadedModel) -> Iterator[Served]:
    with served_model(tiny) as found:
        yield found
