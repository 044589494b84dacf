"""What a stored and a fresh answer say about a hit: by the rules, and by the judge where there is one.

Comparing costs milliseconds, so it happens in a thread. Knows no hits, no stores and no shares.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from semcache.asking.likeness import Similar
from semcache.asking.purse import Purse, cause_of
from semcache.auditing.judge import Judge
from semcache.core import CachePolicy, Usage
from semcache.decide.answers.comparison import Comparison, compare
from semcache.evidence_port import Finding
from semcache.journey import Asked, Backend
from semcache.ports import Clock
from semcache.records import SideKind

OPEN_ENDED = "open-ended"
_A_TOKEN = 3
"""Characters, for what a judge will about cost."""
_VERDICT_TOKENS = 120


@dataclass(frozen=True, slots=True)
class Verdict:
    """A finding with its reasons; `cost` is the micro-USD that a judge took, `judged` whether one spoke."""

    finding: Finding
    reasons: tuple[str, ...]
    cost: int = 0
    judged: bool = False


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

    async def verdict(self, policy: CachePolicy, asked: Asked, texts: tuple[str, str, str]) -> Verdict:
        """Say whether the stored answer tells what the fresh one tells.

        Args:
            policy: names the judge (`upstream`, or `upstream/model`), and what it may cost.
            asked: the request, whose model judges where the policy names none.
            texts: the asked question, the stored answer, and the backend's answer now.
        """
        question, cached, fresh = texts
        found = await self._compared(question, cached, fresh)
        if found.agree:
            return Verdict(Finding.RIGHT, found.reasons)
        upstream, _, named = policy.audit.judge.partition("/")
        backend = self.backends.get(upstream)
        if backend is None or OPEN_ENDED in found.reasons or not (cached and fresh):
            return Verdict(Finding.UNDECIDED if found.agree is None else Finding.WRONG, found.reasons)
        judge = Judge(backend, named or asked.request.model, self.deadline)
        return await self._by_judge(policy, asked, judge, found, texts)

    async def confirmed(self, verdict: Verdict, question: str, answers: tuple[str, str, str]) -> Verdict:
        """Let a `wrong` stand only where a second fresh answer says so too, and does not contradict the first.

        Two right answers in other words are now and then taken for different ones: of a hundred right
        hits that would be more than there are wrong ones.

        Args:
            verdict: the one in doubt.
            question: the asked question.
            answers: the stored one, the fresh one, and a second fresh one.
        """
        cached, fresh, again = answers
        stored = await self._compared(question, cached, again)
        itself = await self._compared(question, fresh, again)
        if stored.agree is False and itself.agree is not False:
            return verdict
        word = "backend-differs" if itself.agree is False else "unconfirmed"
        return Verdict(Finding.UNDECIDED, (word, *verdict.reasons), verdict.cost)

    async def _compared(self, question: str, cached: str, fresh: str) -> Comparison:
        alike = await self.similar(cached, fresh) if self.similar is not None else None
        return await asyncio.to_thread(compare, question, cached, fresh, alike)

    async def _by_judge(
        self, policy: CachePolicy, asked: Asked, judge: Judge, found: Comparison, texts: tuple[str, str, str]
    ) -> Verdict:
        """Ask the judge about what the rules leave open, and about what they call wrong.

        Rules and judge must agree on `wrong`; a judge that does not speak leaves the rules' word.
        """
        by_rules = Finding.UNDECIDED if found.agree is None else Finding.WRONG
        expected = Usage(400 + sum(map(len, texts)) // _A_TOKEN, _VERDICT_TOKENS)
        cause = cause_of(SideKind.JUDGE, policy.domain, asked, judge.backend)
        taken = await self.purse.take(policy, judge.model, expected, self.clock.now(), cause)
        if isinstance(taken, str):
            return Verdict(by_rules, (f"judge-{taken}", *found.reasons))
        said = await judge.judge(*texts, self.new_word())
        cost = await self.purse.settle(taken, said.reply.usage if said.reply else None, refused=said.refused)
        if said.same is None:
            return Verdict(by_rules, ("judge-unclear", *found.reasons), cost)
        if said.same:
            finding = Finding.RIGHT if found.agree is None else Finding.UNDECIDED
            return Verdict(finding, ("judge-same", *found.reasons), cost, judged=True)
        return Verdict(Finding.WRONG, ("judge-differs", *found.reasons), cost, judged=True)
