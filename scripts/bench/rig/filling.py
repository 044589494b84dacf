"""Filling a proxy's store the way users do: by asking."""

from __future__ import annotations

import time

from rich.progress import Progress

from rig import questions
from rig.driver import Driver, Window, ask
from rig.serving import Semcache

_BATCH = 500
_CONNECTIONS = 4
_PATIENCE = 12.0
"""Seconds for vectors that come later, because the encoder was late at first."""
_WHOLE = 0.99
"""Share of entries that must be searchable in the end."""


def fill(proxy: Semcache, driver: Driver, count: int) -> float:
    """Store `count` answers by asking for them; gives the seconds it took.

    Raises:
        RuntimeError: wrong answers, or not all of them are searchable.
    """
    # Without reading: some of so many questions are near enough to each other to be answered by one.
    asks = [ask(question, headers="cache-control: no-cache\r\n") for question in questions.stored(count)]
    batches = [asks[start : start + _BATCH] for start in range(0, len(asks), _BATCH)]
    seconds = 0.0
    with Progress(transient=True) as progress:
        for batch in progress.track(batches, description="filling"):
            seen = driver.run(Window(proxy.port, batch, _CONNECTIONS, 3600.0, cycle=False))
            seconds += seen.wall
            if seen.failed or seen.outcomes.total() != len(batch):
                raise RuntimeError(f"filling failed: {seen.failed} errors, outcomes {dict(seen.outcomes)}")
    vectors = int(proxy.readiness()["vectors"])
    until = time.monotonic() + _PATIENCE
    while vectors < count and time.monotonic() < until:
        time.sleep(0.5)
        vectors = int(proxy.readiness()["vectors"])
    if vectors < _WHOLE * count:
        raise RuntimeError(f"only {vectors} of {count} entries are searchable")
    return seconds
