"""Write files of chats for `semcache eval chats`: the tests' tables, and scenes with another last question.

    .venv/bin/python scripts/bench/chat_tables.py DIR

Gives `tables.jsonl` (pairs and threes of `tests/decide/context`, with labels) and `other_questions.jsonl` (traps: a scene
told in the same or in other words, with another question at the end), `histories.jsonl` (questions behind histories that bear
on them, that do not, and that make another question of each). None trains.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from scripts.verifier.chats.scenes import Pair, alone, as_row, leaning, scenes  # noqa: E402 - the root is on the path only now
from tests.decide.context.build import pairs, turns  # noqa: E402 - as above
from tests.decide.context.cases_same import SAME  # noqa: E402 - as above
from tests.decide.context.cases_trap import TRAPS  # noqa: E402 - as above
from tests.decide.context.cases_triples import TRIPLES  # noqa: E402 - as above

_OTHERS = (
    "How much does it cost?",
    "Who do I contact about it?",
    "Can I cancel that?",
    "How long does it take?",
    "Is that normal?",
    "What happens if I do nothing?",
    "Where can I read more about it?",
    "Can you explain that again?",
    "Do I need any documents for that?",
    "Could somebody call me about this?",
)
_EACH = 3


def tables() -> Iterator[dict[str, object]]:
    """Yield the tests' pairs."""
    for name, one, other in pairs(SAME):
        yield _row(name, one, other, same=True)
    for name, one, other in pairs(TRAPS):
        yield _row(name, one, other, same=False)
    for name, table in TRIPLES.items():
        for block in table.strip().split("\n\n"):
            one, alike, trap = block.split("\n")
            yield _row(f"three {name}", one, alike, same=True)
            yield _row(f"three {name}", one, trap, same=False)
            yield _row(f"three {name}", alike, trap, same=False)


def other_questions() -> Iterator[dict[str, object]]:
    """Yield scenes whose last question is another one."""
    for name in ("support", "world"):
        for number, scene in enumerate(scenes(name)):
            for words, telling in (("same words", (0,)), ("reworded", (1,))):
                for j in range(_EACH):
                    asked = _OTHERS[(number * _EACH + j) % len(_OTHERS)]
                    other = (*scene.told(telling)[:-1], ("user", asked))
                    yield as_row(Pair(scene.name, words, False, scene.told((0,)), other))


def _row(category: str, one: str, other: str, *, same: bool) -> dict[str, object]:
    return {
        "turns_a": turns(one),
        "turns_b": turns(other),
        "same": same,
        "category": category,
        "domain": "general",
    }


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description="Chats of the tests as files.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    histories = (as_row(pair) for pair in (*alone(), *leaning()))
    files = {"tables": tables(), "other_questions": other_questions(), "histories": histories}
    for name, rows in files.items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
