"""`python -m semcache.models.convert CONVERTER SOURCE TARGET`: convert, in a process of its own.

Speaks JSON lines on standard output: `{"step": "weights", "fraction": 0.5}` while it works, at the
end one `{"details": {...}}` (the converter's part of the manifest) or `{"error": "..."}` with exit
status 1. When its parent dies, the next line cannot be written and the process ends.

Does NOT know: wheels, caches, manifests.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from semcache.models.convert.e5 import convert_e5
from semcache.models.convert.minilm import convert_minilm
from semcache.models.convert.report import Details, Report
from semcache.models.convert.smollm2 import convert_smollm2
from semcache.models.errors import ModelError

CONVERTERS: Final[Mapping[str, Callable[[Path, Path, Report], Details]]] = MappingProxyType(
    {"minilm": convert_minilm, "e5": convert_e5, "smollm2": convert_smollm2}
)


def main(arguments: list[str]) -> int:
    """Run one converter; gives the exit status."""
    name, source, target = arguments
    try:
        details = CONVERTERS[name](Path(source), Path(target), report)
    except ModelError as error:
        say({"error": str(error)})
        return 1
    say({"details": details})
    return 0


def report(step: str, fraction: float) -> None:
    """Tell the parent process how far a step is."""
    say({"step": step, "fraction": round(fraction, 3)})


def say(message: dict[str, object]) -> None:
    """Write one line and push it through at once."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
