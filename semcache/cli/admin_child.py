"""The admin process as a child of `semcache serve`: started, started again when it dies, ended.

A proxy serves on while it is away.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable

import structlog

from semcache.cli.admin_door import ORDER, AdminOrder, listen, ready_text, tokens_of
from semcache.settings import Settings

_log = structlog.get_logger()
_FIRST_PAUSE, _LAST_PAUSE = 1.0, 30.0
_PATIENCE_AFTER_TERM = 8.0
_HEALTHY_AFTER = 60.0


class AdminChild:
    """One admin process and its successors; the listening socket stays over restarts.

    Args:
        settings: the parent's.
        note: says one thing on the screen.

    Raises:
        PolicyError: the address cannot be had, or would be open to the network without a token.
    """

    def __init__(self, settings: Settings, note: Callable[[str], None]) -> None:
        tokens_of(settings)
        self._settings = settings
        self._note = note
        self._listener: socket.socket = listen(settings, note)
        os.set_inheritable(self._listener.fileno(), True)
        self._process: Process | None = None
        self._stopping = False
        self._url = ""

    async def start(self, store_url: str) -> None:
        """Start it; who connects meanwhile waits for it, since the socket listens already."""
        self._url = store_url
        await self._launch()

    def announce(self) -> None:
        """Say on the screen where the pages are."""
        self._note(ready_text(self._settings, self._listener))

    async def supervise(self) -> None:
        """Start it again whenever it ends, until `stop`."""
        pause, loop = _FIRST_PAUSE, asyncio.get_running_loop()
        while not self._stopping and self._process is not None:
            began = loop.time()
            status = await self._process.wait()
            if self._stopping:
                return
            pause = _FIRST_PAUSE if loop.time() - began > _HEALTHY_AFTER else pause
            _log.error("the review pages ended and are started again", status=status)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LAST_PAUSE)
            if not self._stopping:
                await self._launch()

    async def stop(self) -> None:
        """End it: politely, after a while by force. Idempotent."""
        self._stopping = True
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            try:
                async with asyncio.timeout(_PATIENCE_AFTER_TERM):
                    await process.wait()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        self._listener.close()

    async def _launch(self) -> None:
        order = AdminOrder(self._settings.model_dump(mode="json"), self._url, self._listener.fileno())
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "semcache",
            "admin",
            stdin=PIPE,
            env={**os.environ, ORDER: order.dumps()},
            pass_fds=(self._listener.fileno(),),
            start_new_session=True,  # Ctrl-C is the parent's to handle, which asks it to drain
        )
