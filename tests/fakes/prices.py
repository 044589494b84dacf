"""Prices by the token, for tests: micro-USD of a token of input and of output, by model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from semcache.core import Usage


@dataclass
class FakePrices:
    by_model: Mapping[str, tuple[int, int]] = field(default_factory=lambda: {"m": (10, 1000)})
    version: str = "fake"

    def cost(self, model: str, usage: Usage, *, backend: str = "", at: float | None = None) -> int | None:
        del backend, at
        rates = self.by_model.get(model)
        if rates is None:
            return None
        return usage.prompt_tokens * rates[0] + usage.completion_tokens * rates[1]

    def embedding(self, tokens: int) -> int | None:
        del tokens
        return None
