"""The life of an engine inside its process: loading in the background, then ready, or failed for good."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from enum import StrEnum

from semcache.engine.generation import overloaded
from semcache.engine.service import Engine
from semcache.errors import EngineError

_log = logging.getLogger(__name__)

Load = Callable[[Callable[[str], None]], Engine]
"""Builds the engine; tells its argument in a few words what it is busy with. Blocks; raises EngineError."""


class Phase(StrEnum):
    """Where the engine stands."""

    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


class EngineHost:
    """Holds the engine while and after it loads; all methods may be called from any thread."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._engine: Engine | None = None
        self._failed = False
        self.stage = "starting"

    def start(self) -> None:
        """Begin to load on a thread that does not keep the process alive."""
        threading.Thread(target=self._run, name="engine-load", daemon=True).start()

    def _run(self) -> None:
        try:
            self._engine = self._load(self._tell)
            _log.info("ready")
        except EngineError as error:
            _log.error("%s", error)
        except Exception:  # noqa: BLE001 - boundary of the thread: an unknown fault ends the process like a known one
            _log.exception("loading failed")
        finally:
            self._failed = self._engine is None

    def _tell(self, stage: str) -> None:
        self.stage = stage
        _log.info("%s", stage)

    @property
    def phase(self) -> Phase:
        """Say where the engine stands now."""
        engine = self._engine
        if engine is not None:
            return Phase.READY if engine.runner.is_alive else Phase.FAILED
        return Phase.FAILED if self._failed else Phase.LOADING

    def engine(self) -> Engine:
        """Give the engine.

        Raises:
            RequestError: 503 with Retry-After: it is still loading.
            EngineError: it will never come.
        """
        if self._engine is not None:
            return self._engine
        if self._failed:
            raise EngineError("the model could not be loaded")
        raise overloaded(f"the model is being loaded ({self.stage})", retry_after=3)

    def close(self) -> None:
        """End the runner, if there is one; blocks until its present step is over. Idempotent."""
        if self._engine is not None:
            self._engine.runner.close()
