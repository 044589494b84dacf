"""A near answer as a draft for a model: asked, read, applied, checked, or the word for why not.

A failed revision is told by a closed word and by what it cost; no fault of a reviser is raised. Knows no clients
and no wire.
"""

from __future__ import annotations

from dataclasses import dataclass

from semcache.core import Draft, Usage
from semcache.journey import Step
from semcache.ports import Clock, Verifier
from semcache.revising.checking import Revision, flaw
from semcache.revising.edit import edit_format, edited
from semcache.revising.memory import Refusals
from semcache.revising.prompt import messages_of
from semcache.revising.reviser import Reviser, Wanted, ask_reviser
from semcache.revising.source import text_of
from semcache.revising.whole import LONGEST, Failed

_AROUND = 128
"""Tokens that the form of an edit takes beside its words."""


@dataclass(frozen=True, slots=True)
class RevisingLimits:
    """Bounds of a revision.

    Attributes:
        deadline: seconds for all that is asked of a reviser; what fails later than that is not waited for.
        least: seconds that it gets even where the answer drafted from came faster.
    """

    deadline: float = 20.0
    least: float = 2.0

    def for_draft(self, draft: Draft) -> float:
        """Give the seconds for a revision: no longer than making the old answer took, where that is known."""
        took = draft.entry.seconds
        return self.deadline if took <= 0 else min(self.deadline, max(self.least, took))


@dataclass(frozen=True, slots=True)
class Revised:
    """A checked answer; `result` is `kept`, `edited` or `rewritten`; `used` what revising took."""

    text: str
    result: str
    used: Usage | None


@dataclass(frozen=True, slots=True)
class Unrevised:
    """Nothing came of it; `reason` is a closed word, `used` what it cost all the same."""

    reason: str
    used: Usage | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """What a reviser is asked: who, for what, and by which random word texts are set apart in it."""

    reviser: Reviser
    wanted: Wanted
    fence: str


@dataclass(frozen=True, slots=True)
class Revisions:
    """Makes revisions.

    Args:
        verifier: asked about the revised answer's question; None: nothing passes the check.
        refusals: what models are known not to take.
        clock: time.
        limits: bounds.
    """

    verifier: Verifier | None
    refusals: Refusals
    clock: Clock
    limits: RevisingLimits

    async def revise(self, step: Step, draft: Draft, text: str, task: Task) -> Revised | Unrevised:
        """Have `text`, the answer of a draft, revised for the question of a request, as `task` asks for it."""
        deadline = self.limits.for_draft(draft)
        reply = await ask_reviser(step, task.reviser, task.wanted, self.refusals, self.clock, deadline)
        if isinstance(reply, Failed):
            return Unrevised(reply.reason, reply.usage)
        said = text_of(reply, LONGEST)
        made = None if said is None else edited(text, said)
        if made is None:
            return Unrevised("unread", reply.usage)
        revision = Revision(draft, step.asked.request.prompt or "", text, made.text)
        found = flaw(revision, step.policy, self.verifier, task.fence)
        if found is not None:
            return Unrevised(found, reply.usage)
        return Revised(made.text, made.result, reply.usage)


def task_of(step: Step, draft: Draft, text: str, reviser: Reviser, fence: str, original: int) -> Task:
    """Give the task of revising a draft's answer.

    Args:
        step: the request.
        draft: the near answer.
        text: what it says.
        reviser: who is asked.
        fence: a random word.
        original: tokens of the answer: writing it anew is the most that a revision may take.
    """
    request = step.asked.request
    messages = messages_of(
        request.body["messages"][:-1], request.prompt or "", draft.entry.prompt, text, fence
    )
    return Task(reviser, Wanted(messages, edit_format(), original + _AROUND), fence)
