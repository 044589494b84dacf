"""A submitted request as its owner sees it: a ticket, a sink, and the moments that its timing is made of.

Knows nothing of tokens or slots.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable

from semcache.engine.generation import Event, GenerationRequest, Sink, Timing
from semcache.engine.layers import NOBODY

_log = logging.getLogger(__name__)


class Job:
    """The ticket of one request. Moments are seconds of the runner's clock; 0 until they come.

    `is_own` marks what the engine asked of itself.
    """

    def __init__(
        self,
        request: GenerationRequest,
        sink: Sink,
        submitted: float,
        on_cancel: Callable[[Job], object],
        *,
        is_own: bool = False,
    ) -> None:
        self.request = request
        self.is_own = is_own
        self._sink = sink
        self._on_cancel = on_cancel
        self._cancelled = threading.Event()
        self._submitted = submitted
        self._matching = 0.0
        self._matched = 0.0
        self._read = 0.0
        self._first = 0.0

    @property
    def tenant(self) -> str:
        """Name the tenant that the queue counts this request on."""
        layers = self.request.layers
        return layers[-1].owner.tenant if layers else NOBODY.tenant

    def cancel(self) -> None:
        """Give the generation up. Idempotent, from any thread."""
        if not self._cancelled.is_set():
            self._cancelled.set()
            self._on_cancel(self)

    @property
    def is_cancelled(self) -> bool:
        """True once the owner gave up, or was told `Failed`."""
        return self._cancelled.is_set()

    def send(self, events: Iterable[Event]) -> None:
        """Hand events to the owner, unless it gave up; a sink that raises has given up, too."""
        for event in events:
            if self._cancelled.is_set():
                return
            try:
                self._sink(event)
            except Exception as error:  # noqa: BLE001 - boundary: a sink is a stranger's code on this thread
                _log.error("an owner did not take its events: %s", type(error).__name__)
                self._cancelled.set()

    def matched(self, began: float, ended: float) -> None:
        """Note when the prefix was looked for; only the first time counts."""
        if not self._matched:
            self._matching, self._matched = began, ended

    def prompt_read(self, now: float) -> None:
        """Note that the whole prompt went through the network."""
        self._read = self._read or now

    def answered(self, now: float) -> None:
        """Note that the first token of the answer was sent."""
        self._first = self._first or now

    def timing(self) -> Timing:
        """Say where the time to the first token went."""
        return Timing(
            queue=max(self._matching - self._submitted, 0.0),
            match=self._matched - self._matching,
            prefill=max(self._read - self._matched, 0.0),
            first_token=max(self._first - self._read, 0.0),
        )
