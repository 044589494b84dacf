"""A server that speaks Redis's protocol and has one answer to every command: an error of the test's choice."""

from __future__ import annotations

import contextlib
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Liar:
    """`error` may be changed at any time; `commands` counts what was asked."""

    error: str
    port: int = 0
    connections: int = 0
    commands: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def heard(self, name: str) -> bytes:
        with self.lock:
            self.commands[name] = self.commands.get(name, 0) + 1
        return f"-{self.error}\r\n".encode()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    block_on_close = False
    request_queue_size = 512


@contextlib.contextmanager
def lying(error: str) -> Iterator[Liar]:
    liar = Liar(error)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            liar.connections += 1
            with contextlib.suppress(OSError, ValueError):
                while line := self.rfile.readline():
                    words = [self._word() for _ in range(int(line[1:]))]
                    self.wfile.write(liar.heard(words[0].decode().upper()))

        def _word(self) -> bytes:
            size = int(self.rfile.readline()[1:])
            return self.rfile.read(size + 2)[:-2]

    with _Server(("127.0.0.1", 0), Handler) as server:
        liar.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield liar
        finally:
            server.shutdown()
            thread.join(5)
