"""What an engine process is started with: options, folders, environment, log.

Touches files and starts the process; waiting for it and ending it are the child handle's.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from semcache.engine.limits import TenantLimit
from semcache.errors import EngineError

MAX_SOCKET_PATH = 100
"""Bytes; the kernel takes 107 on Linux and 103 on macOS."""

MAX_LOG_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """What to run; the fields are options of `semcache engine`.

    `model` is a folder, a GGUF file or a hub's name; `data` takes the socket and the log. Lengths
    are in tokens. `limits` say what a tenant may fill of the engine's memory; all others have none.
    """

    model: str | Path
    data: Path
    name: str = "local"
    aliases: tuple[str, ...] = ()
    threads: int = 1
    max_context: int | None = None
    max_queue: int = 64
    max_active: int = 16
    max_tokens: int = 512
    temperature: float = 1.0
    precision: str = "auto"
    mode: str = "exact"
    kv_bytes: int = 1 << 30
    host_bytes: int = 0
    limits: tuple[TenantLimit, ...] = ()

    def arguments(self, socket: Path) -> list[str]:
        """Give the options for `semcache engine`."""
        options: dict[str, object] = {
            "model": self.model,
            "name": self.name,
            "socket": socket,
            "threads": self.threads,
            "max-queue": self.max_queue,
            "max-active": self.max_active,
            "max-tokens": self.max_tokens,
            "temperature": self.temperature,
            "precision": self.precision,
            "mode": self.mode,
            "kv-bytes": self.kv_bytes,
            "host-bytes": self.host_bytes,
        }
        if self.max_context is not None:
            options["max-context"] = self.max_context
        repeated = [f"--share={limit}" for limit in self.limits]
        repeated += [f"--alias={alias}" for alias in self.aliases]
        return [f"--{key}={value}" for key, value in options.items()] + repeated + ["--exit-with-stdin"]


async def spawn(command: tuple[str, ...], spec: EngineSpec, socket: Path, log_path: Path) -> Process:
    """Start the process; its standard input is a pipe that the parent holds open.

    Raises:
        EngineError: a folder or the log cannot be made, or the program cannot be started.
    """
    try:
        spec.data.mkdir(parents=True, exist_ok=True)
        _private_folder(socket.parent, spec.data)
        with _open_log(log_path) as log:
            return await asyncio.create_subprocess_exec(
                *command,
                *spec.arguments(socket),
                stdin=PIPE,
                stdout=log,
                stderr=log,
                env=_environment(os.environ, spec),
                start_new_session=True,  # Ctrl-C is the parent's to handle; it ends the child in order
            )
    except OSError as error:
        raise EngineError(f"cannot start the engine: {error}") from error


def socket_path(data: Path) -> Path:
    """Give the engine's socket in a data directory, or a short stand-in when that path is too long."""
    path = data.absolute() / "engine.sock"
    if len(os.fsencode(path)) < MAX_SOCKET_PATH:
        return path
    digest = hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()
    return Path(tempfile.gettempdir()) / f"semcache-{os.getuid()}-{digest}" / "engine.sock"


def _private_folder(folder: Path, data: Path) -> None:
    """Make the stand-in folder, and refuse one that somebody else laid out.

    Raises:
        EngineError: it is a link, another user's, or open to others.
    """
    if folder == data.absolute():
        return
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise EngineError(f"{folder} is not a private folder of this user")


def _environment(own: Mapping[str, str], spec: EngineSpec) -> dict[str, str]:
    """Give the child's environment: the parent's, with native libraries held to the threads.

    With a model that lies on this machine no hub is ever asked.
    """
    count = str(spec.threads)
    offline = {"HF_HUB_OFFLINE": "1"} if Path(spec.model).exists() else {}
    return (
        dict(own)
        | offline
        | {
            "OMP_NUM_THREADS": count,
            "MKL_NUM_THREADS": count,
            "OPENBLAS_NUM_THREADS": count,
            "OMP_WAIT_POLICY": "PASSIVE",
            "TOKENIZERS_PARALLELISM": "false",
            "PYTHONUNBUFFERED": "1",
        }
    )


def _open_log(path: Path) -> BinaryIO:
    """Open the log for appending, its owner's alone; a long one is set aside first, replacing the one before."""
    if path.exists() and path.stat().st_size > MAX_LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    log = path.open("ab")
    os.fchmod(log.fileno(), 0o600)
    return log


def last_line(path: Path) -> str:
    """Give the last line of the log, cut to a readable length."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 4096))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return "no log"
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "no word in its log")
