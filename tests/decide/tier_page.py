"""Writes docs/semantic-tier.md from the table in code: `python -m tests.decide.tier_page` prints it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from semcache.decide.answer_tiers import ANSWERS
from semcache.decide.lifetimes import SHORT_LIVES
from semcache.decide.private_kinds import KINDS
from semcache.decide.reasons import Veto
from semcache.decide.tiers import ROWS, Row, Step
from semcache.dialects.closing import FEATURES, Closes

PAGE = Path(__file__).parents[2] / "docs" / "semantic-tier.md"

HEAD = """\
# What may be served from the semantic tier

A stored answer is served to the *same* request (exact tier), or to another one that means the same (semantic tier). This page says to which requests
the second, or both, are closed. It is written from the table that decides (`semcache/decide/tiers.py` and `answer_tiers.py`, `semcache/dialects/closing.py`): a test compares
them, and every row has a test in both directions, a request that it closes and a plain one beside it that is served. `Semcache-Reason` has the reason of each reply;
`semcache explain` tells it without asking anything, and the feature (`closed by`): of a question, or with `--request FILE --path /v1/messages` of a whole request in any dialect.

"Equal requests only" means: equal in every field that may change an answer, the text included.
"""

POLICY = """
## By policy, client and text

In this order; the first that holds is the reason.

"""
FEATURE = """
## By a feature of the request

Of every dialect, as it is seen in chat's words. The reason is `uncacheable` for what is only forwarded, `exact-only` for the rest. No policy opens these to the semantic tier.

"""
ANSWER = """
## By the answer

What was cut off, ended by a limit or a filter, refused, empty, an error, or not to the end of its protocol is never stored. Of whole answers these are not:

"""
APART_FROM = """
## Personal data

Where users share answers (`scope: tenant`), an answer that holds any of these is served to nobody but the one who asked (the end user that the request names, else the caller's own key), by
equal requests and by meaning; where nobody is named, it is not stored. Read are all choices, reasoning, the arguments of tool calls, streams, and answers in a dialect's own words. What the system prompt or the tools of the request
hold themselves is everybody's who could be served. Addresses of houses, names and dates of birth alone are not looked for.

"""
SHORT = """
## Time-sensitive

These live `volatile_ttl` at most (five minutes), in both tiers. A system prompt with a date needs no rule: another date is another namespace.

"""
APART = """
## Compared, not closed

Everything else in a request but its last text must be equal: model, system prompt, tools, output format, sampling, limits, unknown fields ([architecture.md](architecture.md)). What is left
is decided about the two texts:

| What | Why not served |
|---|---|
| near, but they differ in what decides an answer | `gate`, with one of: {vetoes} |
| what was said before them does not come to the same; with pictures or tools in the history only an equal one does | `context` |
| a text beyond the encoder's window | not encoded, so equal requests only |
| the verifier or the evidence of the domain stand against it | `verifier`, `risk` |
| the entry is its author's alone so far, and the asker is somebody else; equal requests too ([confirmation.md](confirmation.md)) | `unconfirmed` |
| the entry is expired, rejected, narrowed, of an older policy, model or encoder | as if it were not there, or `rejected`, `barred`, `narrowed` |
"""


def page() -> str:
    """Give the whole page."""
    vetoes = ", ".join(f"`{veto.value}`" for veto in Veto)
    parts = (
        HEAD,
        POLICY,
        _table(("What", "Effect", "Changed by", "Reason"), map(_row, ROWS)),
        FEATURE,
        _table(("Feature", "What", "Effect"), _features()),
        ANSWER,
        _table(
            ("What", "Changed by", "Word"), ((r.what, r.knob or "-", f"`{r.reason.value}`") for r in ANSWERS)
        ),
        APART_FROM,
        _table(("What", "Not"), ((kind.what, kind.public) for kind in KINDS)),
        SHORT,
        _table(("What",), ((row.what,) for row in SHORT_LIVES)),
        APART.format(vetoes=vetoes),
    )
    return "".join(parts)


def _row(row: Row) -> tuple[str, ...]:
    return row.what, _effect(row.steps), row.knob or "-", f"`{row.reason.value}`"


def _effect(steps: frozenset[Step]) -> str:
    if Step.BYPASS in steps:
        return "forwarded only"
    if steps == {Step.MATCH, Step.STORE}:
        return "nothing by meaning, not stored"
    words = {
        Step.READ: "nothing stored is served",
        Step.MATCH: "equal requests only",
        Step.STORE: "not stored",
    }
    return ", ".join(words[step] for step in Step if step in steps)


def _features() -> Iterator[tuple[str, ...]]:
    words = {Closes.CACHE: "forwarded only", Closes.MEANING: "equal requests only"}
    for row in FEATURES:
        yield f"`{row.name}`", row.what, words[row.closes]


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    sys.stdout.write(page())
