"""What a linter says about made-up traffic: the causes it names."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path

from semcache.cost_port import Cause, LintFinding
from semcache.linting.linter import Linter
from semcache.linting.prompt import prompt_of
from tests.linting.traffic.broken import BROKEN, Make
from tests.linting.traffic.broken_more import MORE_BROKEN
from tests.linting.traffic.sound import SOUND
from tests.linting.traffic.sound_more import MORE_SOUND
from tests.linting.traffic.words import Reader, Sent

ALL_BROKEN = BROKEN | MORE_BROKEN
ALL_SOUND = SOUND | MORE_SOUND
_LONG = 9_000
DIALECTS = ("chat", "anthropic", "responses")


def findings_of(make: Make, seed: int, dialect: str, texts: tuple[str, ...] = ()) -> tuple[LintFinding, ...]:
    """Make a stream, of these texts or of made-up ones, and let a linter of its own look at it."""
    rng = Reader(f"{seed} {dialect}") if texts else random.Random(f"{seed} {dialect}")
    if isinstance(rng, Reader):
        rng.texts = texts
    return found_in(make(rng, dialect))


def real_texts(root: Path) -> tuple[str, ...]:
    """Give texts that nobody wrote for this: the documents of the project, and sources of Python's library."""
    paths = [
        *sorted((root / "docs").rglob("*.md")),
        *sorted(Path(json.__file__).parents[1].glob("*.py"))[:150],
    ]
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in paths)
    return tuple(text for text in texts if len(text) > _LONG)


def mixed(seed: int, broken: int, sound: int) -> tuple[list[Sent], dict[str, Cause]]:
    """Give streams of several applications of one tenant as they come in, and what is wrong with which."""
    rng = random.Random(f"mixed {seed}")
    names = rng.sample(sorted(ALL_BROKEN), broken)
    makes = [ALL_BROKEN[name][0] for name in names] + [
        ALL_SOUND[name] for name in rng.sample(sorted(ALL_SOUND), sound)
    ]
    streams = [make(random.Random(f"{seed} {n}"), rng.choice(DIALECTS)) for n, make in enumerate(makes)]
    sent = sorted((one for stream in streams for one in stream), key=lambda one: one.at)
    return sent, {name: ALL_BROKEN[name][1] for name in names}


def found_in(sent: Iterable[Sent]) -> tuple[LintFinding, ...]:
    """Feed requests to one linter."""
    linter = Linter()
    for one in sent:
        linter.feed(prompt_of(one.body), one.at, one.tenant, one.model, (), lambda tokens: tokens * 2)
    return linter.findings()
