"""What a person sees on the terminal (stderr; log lines go to stdout)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from semcache.settings import Settings

_WIDE = 400


def wide_console() -> Console:
    """Give a console for tables on stdout: as wide as the terminal, and never cut where there is none."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDE)


class Screen:
    """Progress, notes, and what to type next."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False)

    def note(self, text: str) -> None:
        """Say one thing."""
        self.console.print(f"[bold]semcache[/bold]  {text}", soft_wrap=True)

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show that something takes a moment: a spinner on a terminal, a line elsewhere."""
        if self.console.is_terminal:
            with self.console.status(f"[bold]semcache[/bold]  {text}"):
                yield
        else:
            self.note(text)
            yield

    def ready(self, settings: Settings, port: int) -> None:
        """Say that requests are taken, who answers, and what to type next."""
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        url = f"http://{host}:{port}"
        model = settings.engine.name if settings.first_upstream == settings.engine.name else "MODEL"
        body = f'{{"model": "{model}", "messages": [{{"role": "user", "content": "What is a semantic cache?"}}]}}'
        words = ["curl", f"{url}/v1/chat/completions", "-H", "Content-Type: application/json", "-d", body]
        self.note(f"ready on [bold]{url}/v1[/bold], answers come from {settings.first_upstream}")
        self.note("now type (twice, to see the second answer come from the cache):")
        self.console.print(f"\n  {shlex.join(words)}\n", markup=False, soft_wrap=True)
