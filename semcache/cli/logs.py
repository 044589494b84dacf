"""Process logs: one line an event on stderr, readable on a terminal, JSON elsewhere."""

from __future__ import annotations

import logging
import sys

import structlog


def configure_logs() -> None:
    """Send structlog and the standard library's warnings the same way."""
    pretty = sys.stderr.isatty()
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer() if pretty else structlog.processors.JSONRenderer()
    )
    shared: list[structlog.types.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso"),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, renderer], logger_factory=structlog.PrintLoggerFactory(sys.stderr)
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            foreign_pre_chain=shared,
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    # It advises to install what refusing websockets is not for; each of them leaves a record of its own.
    logging.getLogger("uvicorn.error").addFilter(_is_no_upgrade)


def _is_no_upgrade(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(("Unsupported upgrade", "No supported WebSocket"))
