"""Writes generated question pairs as JSON lines.

    .venv/bin/python -m scripts.verifier.synth --out FILE.jsonl --pairs N --seed S --lang en|zh [--wordnet DIR]

A row has `a`, `b`, `same`, `lang`, `kind` ("same" or the name of the trap) and `edits` (all changes made).
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from scripts.verifier.synth.languages import chinese, english


def main() -> None:
    """Reads the arguments and writes the file in one step (a reader never sees half of it)."""
    parser = argparse.ArgumentParser(description="Generate labelled question pairs.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lang", choices=("en", "zh"), default="en")
    parser.add_argument("--wordnet", type=Path, default=None, help="a WordNet database directory (dict)")
    options = parser.parse_args()
    maker = english(options.wordnet) if options.lang == "en" else chinese()
    part = options.out.with_suffix(".tmp")
    with part.open("w", encoding="utf-8") as out:
        for pair in maker.pairs(random.Random(options.seed), options.pairs):
            row = {"a": pair.a, "b": pair.b, "same": pair.same, "lang": options.lang, "kind": pair.kind,
                   "edits": list(pair.edits)}  # fmt: skip
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    part.replace(options.out)


if __name__ == "__main__":
    main()
