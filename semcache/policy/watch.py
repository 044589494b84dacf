"""Keeps the policies current while the service runs: reloads whole sets, and keeps the last good one.

Watches by file system events and, since events are missed when links above the directory are
swapped or on network file systems, by a look at the directory each second. A set is taken
when it has stood still for a moment, loads without a single problem, and still is what was read.
Knows nothing of who uses the snapshot: readers take `current` once a request.
"""

from __future__ import annotations

import stat
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio import to_thread
from watchfiles import awatch

from semcache.errors import PolicyError
from semcache.policy.loader import load_default, load_directory, policy_names
from semcache.policy.prompts import prompt_names
from semcache.policy.snapshot import PolicySnapshot

POLL_SECONDS = 1.0
QUIET_SECONDS = 0.2
"""How long the files must stand still before they are read: editors and copies write in steps."""
SETTLE_TRIES = 25
"""Looks at files that do not come to rest before a reload gives up until the next one."""

Signature = tuple[tuple[str, int, int, int, int], ...]
"""Name, inode, size, and times of change (nanoseconds) of every policy file, and of every file that may hold a
public message; empty when unreadable."""


def anything(_: PolicySnapshot) -> None:
    """Refuse nothing."""


@dataclass(frozen=True, slots=True)
class PolicyStatus:
    """For readiness and metrics. `error` is empty while the files on disk are the ones in force."""

    generation: str
    error: str
    reloads: int
    failures: int


class LivePolicies:
    """The policies in force, and the task that follows their files.

    `LivePolicies.open(path)` loads for the first time (and may refuse); without a path the
    built-in policy is in force and nothing is watched.
    """

    def __init__(
        self,
        path: Path | None,
        snapshot: PolicySnapshot,
        on_change: Callable[[PolicySnapshot], None] | None = None,
        check: Callable[[PolicySnapshot], None] = anything,
    ) -> None:
        """Take a first snapshot.

        Args:
            path: the directory, or None for the built-in policy.
            snapshot: what it says now.
            on_change: called with each later snapshot; must not raise.
            check: raises PolicyError for a set that is sound in itself but does not fit this process.
        """
        self._path = path
        self._current = snapshot
        self._on_change = on_change
        self._check = check
        self._error = ""
        self._reloads = 0
        self._failures = 0
        self._tried: Signature | None = None
        self._lock = anyio.Lock()

    @classmethod
    async def open(
        cls,
        path: Path | None,
        on_change: Callable[[PolicySnapshot], None] | None = None,
        check: Callable[[PolicySnapshot], None] = anything,
    ) -> LivePolicies:
        """Load the directory, or the built-in policy without one.

        Raises:
            PolicyError: the files are refused; there is no last good set yet.
        """
        if path is None:
            return cls(None, load_default(), on_change, check)
        before = await to_thread.run_sync(signature, path)
        live = cls(path, await to_thread.run_sync(load_directory, path), on_change, check)
        check(live.current)
        live._tried = before
        return live

    @property
    def current(self) -> PolicySnapshot:
        """The snapshot in force; hold it for a whole request."""
        return self._current

    @property
    def generation(self) -> str:
        """Digest of the snapshot in force."""
        return self._current.generation

    @property
    def last_error(self) -> str:
        """Why the files on disk are not in force; empty when they are."""
        return self._error

    def status(self) -> PolicyStatus:
        """Give the state for readiness and metrics."""
        return PolicyStatus(self.generation, self._error, self._reloads, self._failures)

    async def reload(self, *, may_remove: bool = True) -> bool:
        """Load the files now; gives whether they are in force afterwards.

        `may_remove` is False for reloads that nobody asked for: a tenant whose file vanished then
        counts as an accident, and the last good set stays until someone reloads on purpose.
        """
        if self._path is None:
            return True
        async with self._lock:
            return await self._reload(self._path, may_remove)

    async def run(self) -> None:
        """Follow the files until cancelled; never ends by itself, whatever happens to them."""
        while self._path is not None:
            try:
                await self._watch(self._path)
            except* (OSError, RuntimeError):
                # No such directory, or no watches left in the system; the look below says which.
                await anyio.sleep(POLL_SECONDS)
            await self._look(self._path)
        await anyio.sleep_forever()

    async def _watch(self, path: Path) -> None:
        """Look at each event and each second, until the directory is another one."""
        real = await to_thread.run_sync(path.resolve)
        stop = anyio.Event()
        async with anyio.create_task_group() as tasks:
            # awatch waits in a thread that a cancellation cannot reach; this task can stop it.
            tasks.start_soon(_set_at_end, stop)
            changes = awatch(
                path,
                watch_filter=None,
                recursive=False,
                debounce=50,
                step=20,
                stop_event=stop,
                rust_timeout=int(POLL_SECONDS * 1000),
                yield_on_timeout=True,
            )
            async with aclosing(changes):
                async for _ in changes:
                    await self._look(path)
                    if await to_thread.run_sync(path.resolve) != real:
                        break  # a link above was swapped: these events are of the old place
            tasks.cancel_scope.cancel()

    async def _look(self, path: Path) -> None:
        """Reload when the files differ from those tried last."""
        if await to_thread.run_sync(signature, path) != self._tried:
            await self.reload(may_remove=False)

    async def _reload(self, path: Path, may_remove: bool) -> bool:
        before = await self._settled(path)
        try:
            snapshot = await to_thread.run_sync(load_directory, path)
            self._check(snapshot)
        except PolicyError as error:
            return self._refuse(before, str(error))
        except Exception as error:  # noqa: BLE001 - boundary: no file may ever take the service down
            return self._refuse(before, f"cannot load {path}: {type(error).__name__}")
        if await to_thread.run_sync(signature, path) != before:
            # Changed while being read: what was read may be half of each. The next look tries again.
            return self._refuse(None, f"{path} changed while it was read")
        gone = [name for name in self._current.tenants if name not in snapshot.by_tenant]
        if gone and not may_remove:
            return self._refuse(
                before, f"{path}: tenants vanished ({', '.join(gone[:10])}): reload on purpose to remove them"
            )
        self._accept(before, snapshot)
        return True

    async def _settled(self, path: Path) -> Signature:
        """Wait until the files stand still; gives their signature."""
        seen = await to_thread.run_sync(signature, path)
        for _ in range(SETTLE_TRIES):
            await anyio.sleep(QUIET_SECONDS)
            now = await to_thread.run_sync(signature, path)
            if now == seen:
                break
            seen = now
        return seen

    def _accept(self, tried: Signature, snapshot: PolicySnapshot) -> None:
        self._tried, self._current, self._error = tried, snapshot, ""
        self._reloads += 1
        if self._on_change is not None:
            self._on_change(snapshot)

    def _refuse(self, tried: Signature | None, error: str) -> bool:
        self._tried, self._error = tried, error
        self._failures += 1
        return False


async def _set_at_end(stop: anyio.Event) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        stop.set()


def signature(path: Path) -> Signature:
    """Take what tells one state of the directory from another, links followed; never raises for files."""
    try:
        names = [*policy_names(path), *prompt_names(path)]
    except OSError:
        return ()
    return tuple(_stat(path, name) for name in names)


def _stat(path: Path, name: str) -> tuple[str, int, int, int, int]:
    try:
        found = (path / name).stat()
    except OSError:
        return name, 0, 0, 0, 0
    kind = stat.S_IFMT(found.st_mode)
    return name, found.st_ino ^ kind, found.st_size, found.st_mtime_ns, found.st_ctime_ns
