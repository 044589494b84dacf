"""What a linter says about made-up traffic: the causes it names."""

from __future__ import annotations

import random
from collections.abc import Iterable

from semcache.cost_port import Cause, LintFinding
from semcache.linting.linter import Linter
from semcache.linting.prompt import prompt_of
from tests.linting.traffic.broken import BROKEN, Make
from tests.linting.traffic.broken_more import MORE_BROKEN
from tests.linting.traffic.sound import SOUND
from tests.linting.traffic.sound_more import MORE_SOUND
from tests.linting.traffic.words import Sent

ALL_BROKEN = BROKEN | MORE_BROKEN
ALL_SOUND = SOUND | MORE_SOUND
DIALECTS = ("chat", "anthropic", "responses")


def findings_of(make: Make, seed: int, dialect: str) -> tuple[LintFinding, ...]:
    """Make a stream and let a linter of its own look at it."""
    return found_in(make(random.Random(f"{seed} {dialect}"), dialect))


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
