"""Finds what keeps the beginnings of prompts from being reused, prompt by prompt, in bounded memory.

Used on live traffic (`watch`) and on logs alike. Knows no store, no clock and no prices but those handed in.
"""

from __future__ import annotations

from collections.abc import Callable

from semcache.core import Labels
from semcache.cost_port import LintFinding
from semcache.linting.prompt import Prompt

Price = Callable[[int], int | None]
"""Micro-USD that so many input tokens cost more for not being read from a cache; None: not known."""


class Linter:
    """Compares each prompt with earlier ones that are meant to begin like it. Not safe for threads."""

    def feed(
        self,
        prompt: Prompt,
        at: float,
        tenant: str,
        model: str,
        labels: Labels = (),
        price: Price | None = None,
    ) -> None:
        """Take one prompt; those of one tenant in order of time.

        Args:
            prompt: what was sent.
            at: Unix seconds.
            tenant: whose it is; nothing is compared across tenants.
            model: who was asked.
            labels: of the request.
            price: what lost tokens cost; None: not known.
        """

    def findings(self) -> tuple[LintFinding, ...]:
        """Give what was found so far, by day, most tokens lost first."""
        return ()
