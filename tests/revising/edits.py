"""What revisers say, in the form that they are asked for."""

from __future__ import annotations

import json


def keep() -> str:
    return json.dumps({"edit": "keep"})


def change(*pairs: tuple[str, str]) -> str:
    return json.dumps({"edit": [{"old": old, "new": new} for old, new in pairs]})


def rewrite(text: str) -> str:
    return json.dumps({"edit": {"answer": text}})
