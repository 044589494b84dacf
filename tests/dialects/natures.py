"""All dialects whose answers are chat answers in other words, and what is so of one and not of all."""

from __future__ import annotations

from semcache.dialects.dialect import Dialect
from semcache.dialects.table import ALL
from tests.dialects.answers import FEATURES
from tests.dialects.contract import Nature

_TOOLS = frozenset(("tools", "only-tools", "reasoning"))
NATURES = {
    "openai.chat": Nature(frozenset(FEATURES)),
    "openai.completions": Nature(frozenset(("reasoning", "logprobs", "choices", "unknown"))),
    "openai.responses": Nature(_TOOLS | {"logprobs", "unknown"}),
    "anthropic.messages": Nature(_TOOLS),
    "ollama.chat": Nature(
        _TOOLS | {"logprobs"}, has_ids=False, refuses=False, no_identity=frozenset(("keep_alive",))
    ),
    "ollama.generate": Nature(
        frozenset(("reasoning", "logprobs")),
        has_ids=False,
        refuses=False,
        no_identity=frozenset(("keep_alive",)),
    ),
    "gemini.generate": Nature(
        _TOOLS | {"choices", "logprobs"},
        refuses=False,
        no_identity=frozenset(("labels", "serviceTier", "store")),
    ),
}
SILENT = frozenset(("openai.embeddings",))
"""Dialects whose answers say nothing."""
SPEAKING: tuple[Dialect, ...] = tuple(one for one in ALL if one.name not in SILENT)


def nature_of(dialect: Dialect) -> Nature:
    return NATURES[dialect.name]
