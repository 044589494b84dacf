"""What each client does in each scenario, by the scenario's name."""

from __future__ import annotations

from collections.abc import Callable

from tests.clients.lanes import Lane
from tests.clients.running import Rig
from tests.clients.scenes import answers, faults, objects
from tests.clients.sheet import Sheet

SCENES: dict[str, Callable[[Rig, Lane, Sheet], None]] = {
    "chat": answers.chat,
    "stream": answers.stream,
    "usage": answers.usage,
    "tools": objects.tools,
    "structured output": objects.structured,
    "error": faults.error,
    "timeout": faults.timeout,
    "abort": faults.abort,
    "cut stream": faults.cut,
    "retry": faults.retry,
}
