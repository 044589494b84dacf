"""A proxy as a user runs it: `semcache serve` in a process of its own, over real sockets."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai
import psutil

ROOT = Path(__file__).parents[2]
_READY = re.compile(r"ready on (http://[^/\s]+)/v1")


def models_folder() -> Path:
    """Where the fetched models are; ./scripts/test sees to it."""
    return Path(os.environ.get("SEMCACHE_TEST_MODELS", ROOT / "semcache-data" / "models"))


def calm_policies(folder: Path) -> Path:
    """Give a folder with the shipped policy, but for what happens by chance: no audits, and a generous risk budget.

    What audits do and what the bound allows has tests of its own; here each call of the upstream is counted.
    """
    folder.mkdir(exist_ok=True)
    text = (ROOT / "policies" / "default.yaml").read_text(encoding="utf-8")
    for shipped, calm in (
        ("  audit:\n    enabled: true", "  audit:\n    enabled: false"),
        ("budget: 0.01", "budget: 0.1"),
    ):
        assert text.count(shipped) == 1
        text = text.replace(shipped, calm)
    (folder / "default.yaml").write_text(text, encoding="utf-8")
    return folder


@dataclass
class Reply:
    """A raw HTTP reply."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return str(self.json()["choices"][0]["message"]["content"])


@dataclass
class Proxy:
    """One running proxy."""

    data: Path
    arguments: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    url: str = ""
    process: subprocess.Popen[str] | None = None
    stderr: list[str] = field(default_factory=list)
    stdout: list[str] = field(default_factory=list)
    readers: list[threading.Thread] = field(default_factory=list)
    namespace: str = ""
    """Sent with every question, so that tests that share a proxy do not share answers."""
    output: int = subprocess.PIPE
    """Where its request log goes."""
    every_script: bool = False
    """Load the encoder of all scripts at the start, as a user's proxy does; else at the first text that is not English."""

    def start(self, patience: float = 90.0) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        link = self.data / "models"
        if not link.exists():
            link.symlink_to(models_folder(), target_is_directory=True)
        port = self.url.rpartition(":")[2] or "0"
        if "--policies" not in self.arguments and "--config" not in self.arguments:
            self.arguments = [*self.arguments, "--policies", str(calm_policies(self.data.parent / "calm"))]
        if "--admin-port" not in self.arguments:
            # The reviewers' listener is a process more, which only the tests about it need.
            self.environment = {"SEMCACHE_ADMIN__ENABLED": "false", **self.environment}
        if not self.every_script:
            self.environment = {"SEMCACHE_ENCODER__PRELOAD": "false", **self.environment}
        command = [sys.executable, "-m", "semcache", "serve", "--data", str(self.data), "--port", port]
        self.process = subprocess.Popen(
            [*command, *self.arguments],
            cwd=self.data.parent,
            env={**os.environ, **self.environment},
            stdout=self.output,
            stderr=subprocess.PIPE,
            text=True,
        )
        ready = threading.Event()
        self.readers = [
            threading.Thread(target=self._read_errors, args=(ready,), daemon=True),
            threading.Thread(target=self._read_lines, daemon=True),
        ]
        for reader in self.readers:
            reader.start()
        if not ready.wait(patience):
            self.kill()
            raise AssertionError("the proxy did not get ready:\n" + "".join(self.stderr))
        if not self.url:
            self.process.wait()
            raise AssertionError("the proxy ended:\n" + "".join(self.stderr))

    def _read_errors(self, ready: threading.Event) -> None:
        assert self.process is not None
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                self.stderr.append(line)
                if found := _READY.search(line):
                    self.url = found[1]
                    ready.set()
        ready.set()

    def _read_lines(self) -> None:
        assert self.process is not None
        if self.process.stdout is None:
            return
        with self.process.stdout as stream:
            for line in stream:
                self.stdout.append(line)

    def stop(self, number: signal.Signals = signal.SIGTERM, patience: float = 30.0) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(patience)

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            for child in psutil.Process(self.process.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
            self.process.kill()
            self.process.wait()

    def child(self, name: str) -> psutil.Process:
        """Find a child process by a word in its command line."""
        assert self.process is not None
        for child in psutil.Process(self.process.pid).children(recursive=True):
            if name in " ".join(child.cmdline()):
                return child
        raise AssertionError(f"no child {name}")

    # -- asking -------------------------------------------------------------------------

    def client(self, key: str = "sk-test", **options: Any) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key=key, default_headers=self._own(), **options)

    def _own(self) -> dict[str, str]:
        return {"semcache-namespace": self.namespace} if self.namespace else {}

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Reply:
        request = urllib.request.Request(self.url + path, body, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return Reply(reply.status, _lower(reply.headers.items()), reply.read())
        except urllib.error.HTTPError as error:
            return Reply(error.code, _lower(error.headers.items()), error.read())

    def chat(self, question: str | list[Any], headers: dict[str, str] | None = None, **fields: Any) -> Reply:
        messages = question if isinstance(question, list) else [{"role": "user", "content": question}]
        body = json.dumps({"model": "m", "messages": messages, **fields}).encode()
        sent = {"content-type": "application/json", **self._own(), **(headers or {})}
        return self.request("POST", "/v1/chat/completions", body, sent)

    def outcome(self, question: str | list[Any], headers: dict[str, str] | None = None, **fields: Any) -> str:
        return self.chat(question, headers, **fields).headers["semcache-outcome"]

    def metric(self, name: str) -> float:
        """Sum a metric over its labels."""
        page = self.request("GET", "/metrics").body.decode()
        values = [line.rpartition(" ")[2] for line in page.splitlines() if re.match(rf"{name}(\{{|\s)", line)]
        return sum(map(float, values))

    def records(self, wait: float = 0.4) -> list[dict[str, Any]]:
        """Request log lines written so far."""
        time.sleep(wait)
        return [json.loads(line) for line in self.stdout if line.startswith("{")]

    def ready_detail(self) -> dict[str, Any]:
        found: dict[str, Any] = self.request("GET", "/readyz").json()
        return found

    def wait_until(self, check: Any, patience: float = 15.0) -> None:
        until = time.monotonic() + patience
        while not check():
            assert time.monotonic() < until, "waited in vain"
            time.sleep(0.05)


def _lower(pairs: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in pairs}


@contextlib.contextmanager
def running(data: Path, *arguments: str, every_script: bool = False, **environment: str) -> Iterator[Proxy]:
    """Run a proxy for a while; see `Proxy.every_script`."""
    proxy = Proxy(data, list(arguments), dict(environment), every_script=every_script)
    proxy.start()
    try:
        proxy.wait_until(lambda: proxy.ready_detail()["status"] == "ready", 60)
        yield proxy
    finally:
        if proxy.process is not None and proxy.process.poll() is None:
            try:
                proxy.stop()
            except subprocess.TimeoutExpired:
                proxy.kill()
                raise
        for reader in proxy.readers:
            reader.join(10)
