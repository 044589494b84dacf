"""A report for runners that keep no prefixes: what they do not have is zero, the rest is theirs."""

from __future__ import annotations

from dataclasses import fields, replace

from semcache.engine.generation import GenerationRequest, PlainRunner, RunnerStats, Sink, Ticket
from semcache.engine.report import EngineReport, TopPrefix, TreeNode


def empty_report() -> EngineReport:
    """Give the report of an engine that has done nothing and holds nothing."""
    groups = {"evictions": (), "tenants": ()}
    return EngineReport(**{field.name: groups.get(field.name, 0) for field in fields(EngineReport)})  # type: ignore[arg-type]  # counts but for the two groups


class Reporting:
    """A `Runner` around one that only generates."""

    def __init__(self, runner: PlainRunner) -> None:
        self._runner = runner

    def submit(self, request: GenerationRequest, sink: Sink) -> Ticket:
        """Queue a generation, as the runner does."""
        return self._runner.submit(request, sink)

    def stats(self) -> RunnerStats:
        """Give present figures."""
        return self._runner.stats()

    @property
    def is_alive(self) -> bool:
        """False once the runner can never answer again."""
        return self._runner.is_alive

    def close(self) -> None:
        """End the runner."""
        self._runner.close()

    def report(self) -> EngineReport:
        """Give how busy the runner is; it holds no prefix."""
        stats = self.stats()
        return replace(
            empty_report(), active=stats.active, queued=stats.queued, generated=stats.generated_tokens
        )

    def tree_view(self, limit: int) -> tuple[TreeNode, ...]:  # noqa: ARG002 - of a port
        """Give nothing: there is no tree."""
        return ()

    def top_prefixes(self, count: int) -> tuple[TopPrefix, ...]:  # noqa: ARG002 - of a port
        """Give nothing: there is no tree."""
        return ()
