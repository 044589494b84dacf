"""What revisers say, in the form that they are asked for."""

from __future__ import annotations

import json


def keep() -> str:
    return json.dumps({"edit": "keep", "changes": [], "answer": ""})


def change(*pairs: tuple[str, str]) -> str:
    changes = [{"old": old, "new": new} for old, new in pairs]
    return json.dumps({"edit": "change", "changes": changes, "answer": ""})


def rewrite(text: str) -> str:
    return json.dumps({"edit": "rewrite", "changes": [], "answer": text})
