"""What the linter keeps in memory, and from when on it speaks up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LintRules:
    """Bounds of a linter; sizes are characters unless they say otherwise.

    Kept: `families` of prompts with up to `samples` texts each, `characters` of them in all; `talks` conversations of `turns`
    messages in all; `sites` places a family and day at which prompts part. Reported: causes met at least `least_seen`
    times, by `least_share` of the prompts, that lose `least_each` tokens each time and `least_tokens` a day. Texts are
    compared up to `longest`; first messages of questions are compared from `document` on.
    """

    families: int = 2_000
    samples: int = 4
    characters: int = 32_000_000
    talks: int = 20_000
    turns: int = 400_000
    sites: int = 48
    longest: int = 200_000
    document: int = 400
    least_seen: int = 3
    least_share: float = 0.05
    least_each: int = 32
    least_tokens: int = 256
    archive: int = 5_000
