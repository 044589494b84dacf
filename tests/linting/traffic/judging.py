"""What a linter says about made-up traffic: the causes it names."""

from __future__ import annotations

import random

from semcache.cost_port import LintFinding
from semcache.linting.linter import Linter
from semcache.linting.prompt import prompt_of
from tests.linting.traffic.broken import Make

DIALECTS = ("chat", "anthropic", "responses")


def findings_of(make: Make, seed: int, dialect: str) -> tuple[LintFinding, ...]:
    linter = Linter()
    for sent in make(random.Random(f"{seed} {dialect}"), dialect):
        linter.feed(prompt_of(sent.body), sent.at, sent.tenant, sent.model, (), lambda tokens: tokens * 2)
    return linter.findings()
