"""A near answer as a draft for a model: asked, read, applied, checked, or the word for why not.

A failed revision is told by a closed word and by what it cost; no fault of a reviser is raised. Knows no clients
and no wire.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from semcache.core import Draft, JsonObject, Usage
from semcache.decide.revision.check import WantedForm, check
from semcache.decide.revision.edit import Edit, Keep, Replace, Rewrite, Unreadable, apply_edit, read_edit
from semcache.decide.revision.flaws import Flaw
from semcache.decide.revision.prompt import revision_messages, revision_schema
from semcache.journey import Step
from semcache.ports import Clock, Verifier
from semcache.revising.memory import Refusals
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
        edit = Unreadable("form") if said is None else read_edit(said)
        made = edit if isinstance(edit, Unreadable) else apply_edit(text, edit)
        if isinstance(edit, Unreadable) or isinstance(made, Unreadable):
            return Unrevised("unread", reply.usage)
        found = await asyncio.to_thread(self._flaws, step, draft, text, made, task.fence)
        if found:
            return Unrevised(found[0], reply.usage)
        return Revised(made, _result(edit, unchanged=made == text), reply.usage)

    def _flaws(self, step: Step, draft: Draft, text: str, made: str, fence: str) -> tuple[Flaw, ...]:
        """Say what stands against an answer; milliseconds, for long ones and for schemas more: not for the event loop."""
        request, stored = step.asked.request, draft.entry.prompt
        wanted = WantedForm(_form_of(request.body.get("response_format")), fence)
        asked = request.prompt or ""
        return check(step.policy, asked, stored, text, made, draft.similarity, self.verifier, wanted)


def _form_of(asked: Any) -> JsonObject | None:
    """Give the form that a request asks for; one that is no object is the upstream's to refuse, and fits nothing here."""
    return asked if asked is None or isinstance(asked, Mapping) else {}


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
    messages = revision_messages(
        request.body["messages"], request.prompt or "", draft.entry.prompt, text, fence
    )
    return Task(reviser, Wanted(tuple(messages), revision_schema(), original + _AROUND), fence)


def _result(edit: Edit, *, unchanged: bool) -> str:
    match edit:
        case Keep():
            return "kept"
        case Replace():
            return "kept" if unchanged else "edited"
        case Rewrite():
            return "rewritten"
