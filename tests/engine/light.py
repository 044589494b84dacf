"""A stand-in for `semcache engine` that starts in a moment: the real server without a model.

Run as a program with the same options; its answers are always "light".
"""

from __future__ import annotations

from collections.abc import Callable

import typer

from semcache.cli.engine import engine
from semcache.engine import serve
from semcache.engine.generation import (
    Delta,
    Done,
    Finished,
    FinishReason,
    GenerationRequest,
    RunnerStats,
    Sink,
)
from semcache.engine.service import Engine


class LightTemplate:
    def tokens(self, body: object) -> tuple[int, ...]:
        return (1, 2, 3)


class LightRunner:
    """Answers at once, on the caller's thread."""

    is_alive = True

    def submit(self, request: GenerationRequest, sink: Sink) -> LightRunner:
        for event in (Delta(0, "light"), Finished(0, FinishReason.STOP), Done(3, 1)):
            sink(event)
        return self

    def cancel(self) -> None:
        pass

    def stats(self) -> RunnerStats:
        return RunnerStats(0, 0, 0)

    def close(self) -> None:
        pass


def load(options: serve.EngineOptions, stage: Callable[[str], None]) -> Engine:
    stage("lighting up")
    return Engine(
        template=LightTemplate(), runner=LightRunner(), context=64, vocabulary_size=8, fingerprint="fp_light"
    )


if __name__ == "__main__":
    serve.load_engine = load
    typer.run(engine)
