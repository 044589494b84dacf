"""Whose questions are attacked: a sample of every labelled file, always the same."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

SOURCES: dict[str, str] = {
    "written_pairs": "",
    "fow_pairs_en": "",
    "banking77_classes_en": "chat",
    "clinc150_classes_en": "chat",
    "medquad_en": "medical",
    "rqe_medical_en": "medical",
    "adversarial": "",
    "cmedqq_zh": "medical",
}
"""Files, and the domain of their questions; "": each row names its own."""
_DOMAINS = {"medical": "medical", "health": "medical", "legal": "legal", "law": "legal"}
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Victim:
    """A question that somebody will ask; `trap` is a near question with another answer, where its file has one."""

    text: str
    source: str
    domain: str
    is_han: bool
    trap: str = ""


def victims(shared: Path, number: int, seed: int = 11) -> list[Victim]:
    """Give so many questions, as many of each file as can be.

    Args:
        shared: the folder of the labelled files; one that is not there is left out.
    """
    chance = random.Random(seed)
    present = [name for name in SOURCES if (shared / f"{name}.jsonl").is_file()]
    if not present:
        raise SystemExit(f"{shared}: none of the labelled files is here")
    found: list[Victim] = []
    for place, name in enumerate(present):
        share = number // len(present) + (place < number % len(present))
        lines = (shared / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [row for row in map(json.loads, filter(str.strip, lines)) if _is_question(row)]
        found += [_victim(row, name) for row in chance.sample(rows, min(share, len(rows)))]
    return found


def _is_question(row: dict[str, object]) -> bool:
    text = str(row.get("b") or row.get("text"))
    return 12 <= len(text) <= _LONGEST or (_is_han(text) and 5 <= len(text) <= _LONGEST)


def _victim(row: dict[str, object], source: str) -> Victim:
    text = str(row.get("b") or row.get("text"))
    domain = SOURCES[source] or _DOMAINS.get(str(row.get("domain")), "chat")
    trap = str(row["a"]) if row.get("same") is False else ""
    return Victim(text, source, domain, _is_han(text), trap)


def _is_han(text: str) -> bool:
    return any("\u4e00" <= char <= "\u9fff" for char in text)
