"""What a stored and a fresh answer say about a hit: by the rules, by the judge where they cannot tell.

Comparing costs milliseconds, so it happens in a thread. Knows no hits, no stores and no shares.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from semcache.auditing.judge import Judge
from semcache.auditing.purse import Purse
from semcache.core import CachePolicy, Usage
from semcache.decide.answers.comparison import Comparison, compare
from semcache.evidence_port import Finding
from semcache.journey import Backend
from semcache.ports import Clock

OPEN_ENDED = "open-ended"
_A_TOKEN = 3
"""Characters, for what a judge will about cost."""
_VERDICT_TOKENS = 120

Similar = Callable[[str, str], Awaitable[float | None]]
"""Gives how alike two answers are, on the reference scale; None where no encoder can tell."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A finding with its reasons; `cost` is the micro-USD that a judge took."""

    finding: Finding
    reasons: tuple[str, ...]
    cost: int = 0


@dataclass(frozen=True, slots=True)
class Bench:
    """Compares answers.

    Args:
        similar: how alike two texts are, or None: without.
        backends: upstreams by name, of which a policy may name one as judge.
        purse: what judging may cost.
        clock: time.
        new_word: gives fresh random words.
        deadline: seconds for a judge.
    """

    similar: Similar | None
    backends: Mapping[str, Backend]
    purse: Purse
    clock: Clock
    new_word: Callable[[], str]
    deadline: float = 30.0

    async def verdict(self, policy: CachePolicy, model: str, texts: tuple[str, str, str]) -> Verdict:
        """Say whether the stored answer tells what the fresh one tells.

        Args:
            policy: names the judge (`upstream`, or `upstream/model`), and what it may cost.
            model: the request's own, which judges where the policy names none.
            texts: the asked question, the stored answer, and the backend's answer now.
        """
        question, cached, fresh = texts
        found = await self._compared(question, cached, fresh)
        if found.agree is not None:
            return Verdict(Finding.RIGHT if found.agree else Finding.WRONG, found.reasons)
        upstream, _, named = policy.audit.judge.partition("/")
        backend = self.backends.get(upstream)
        if backend is None or OPEN_ENDED in found.reasons or not (cached and fresh):
            return Verdict(Finding.UNDECIDED, found.reasons)
        judge = Judge(backend, named or model, self.deadline)
        return await self._by_judge(policy, judge, found, texts)

    async def confirmed(self, verdict: Verdict, question: str, answers: tuple[str, str, str]) -> Verdict:
        """Take back a `wrong` where the backend contradicts itself as much as it contradicts the stored answer.

        Args:
            verdict: the one in doubt.
            question: the asked question.
            answers: the stored one, the fresh one, and a second fresh one.
        """
        cached, fresh, again = answers
        itself = await self._compared(question, fresh, again)
        stored = await self._compared(question, cached, again)
        if itself.agree is False or stored.agree is True:
            return Verdict(Finding.UNDECIDED, ("backend-differs", *verdict.reasons), verdict.cost)
        return verdict

    async def _compared(self, question: str, cached: str, fresh: str) -> Comparison:
        alike = await self.similar(cached, fresh) if self.similar is not None else None
        return await asyncio.to_thread(compare, question, cached, fresh, alike)

    async def _by_judge(
        self, policy: CachePolicy, judge: Judge, found: Comparison, texts: tuple[str, str, str]
    ) -> Verdict:
        expected = Usage(400 + sum(map(len, texts)) // _A_TOKEN, _VERDICT_TOKENS)
        taken = await self.purse.take(policy, judge.model, expected, self.clock.now())
        if isinstance(taken, str):
            return Verdict(Finding.UNDECIDED, (f"judge-{taken}", *found.reasons))
        said = await judge.judge(*texts, self.new_word())
        cost = await self.purse.settle(taken, said.reply.usage if said.reply else None)
        if said.same is None:
            return Verdict(Finding.UNDECIDED, ("judge-unclear", *found.reasons), cost)
        word = "judge-same" if said.same else "judge-differs"
        return Verdict(Finding.RIGHT if said.same else Finding.WRONG, (word,), cost)
