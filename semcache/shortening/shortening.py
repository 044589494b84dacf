"""Trims the history of a request whose client asks for it, as far as the tenant's policy lets it.

The trimmed request is the one that is looked up, stored and sent: what a model did not see has no part in its answer. Nothing
here fails a request: where a summary cannot be had in time, the window takes its place. Knows neither HTTP nor what a
summary costs the tenant (the sink does).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import orjson
import structlog

from semcache.asking.calls import Failed, ask, text_of
from semcache.asking.pause import Pause
from semcache.calling import auth_of
from semcache.core import TenantId, Usage
from semcache.cost_rules import HistoryPolicy, Trimming
from semcache.dialects.request import with_messages
from semcache.embed.fingerprint import subject_digest
from semcache.errors import RequestError, StoreError
from semcache.journey import Asked, Backend, Trimmed
from semcache.ports import Change, Clock, EpochBumped, SideSink, StoreReset, UpstreamCall
from semcache.records import SideKind, SideRecord
from semcache.shortening.cutting import Cut, find_cut, without
from semcache.shortening.summary import Task, as_message, cleaned, name_of
from semcache.shortening.summary import text_of as text_in
from semcache.tokens import tokens_of

_log = structlog.get_logger()

_ORDER = (Trimming.OFF, Trimming.REPORT, Trimming.WINDOW, Trimming.SUMMARY)
_REMEMBERED = 1000
_SUBJECT_KEY = "subject:"
_LOOKED_BACK = 3
"""Cuts looked back for a summary that is known: of a conversation that goes on it is the last or the one before."""
_AT_ONCE = 24_000
"""Guessed tokens that are put before the summariser in one call."""
_PATH = "/v1/chat/completions"


class SummaryShelf(Protocol):
    """Summaries that all replicas share, so that a prompt's beginning is the same wherever a request comes in."""

    async def get(self, tenant: TenantId, name: str) -> str | None:
        """Give a summary; None when there is none.

        Raises:
            StoreError: unreachable or late.
        """
        ...

    async def put(self, tenant: TenantId, name: str, summary: str) -> str:
        """Keep a summary; gives the one that holds: whoever is first wins.

        Raises:
            StoreError: unreachable, late, read-only or full.
        """
        ...


@dataclass(frozen=True, slots=True)
class Shortening:
    """Trims histories.

    Args:
        shelf: summaries of all replicas.
        backends: by name, and who answers a tenant's request under "".
        sides: hears what summaries cost.
        new_word: gives a word nobody can guess.
    """

    shelf: SummaryShelf
    backend_of: Callable[[TenantId, str], Backend]
    sides: SideSink
    clock: Clock
    new_word: Callable[[], str]
    known: OrderedDict[str, str] = field(default_factory=OrderedDict)
    pause: Pause = field(default_factory=lambda: Pause(most=2, rest=60.0))
    """Who could not sum up in time twice is not waited for a while: every request of a conversation would."""

    def on_change(self, change: Change) -> None:
        """Forget summaries of somebody who was erased, and all of them where a tenant or the store was emptied."""
        match change:
            case EpochBumped(key=key) if key.startswith(_SUBJECT_KEY):
                mine = f"{key.removeprefix(_SUBJECT_KEY)}."
                for name in [name for name in self.known if name.startswith(mine)]:
                    del self.known[name]
            case EpochBumped(key="") | StoreReset():
                self.known.clear()
            case _:
                pass

    async def applied(self, asked: Asked, policy: HistoryPolicy) -> Asked:
        """Give the request with its history trimmed, and a note for the client of what was done."""
        wanted = min(Trimming(asked.directives.history or "off"), policy.most, key=_ORDER.index)
        if wanted is Trimming.OFF or asked.raw_body is not None or asked.request.unsayable:
            return replace(asked, trimmed=Trimmed(Trimming.OFF))
        messages: Sequence[Mapping[str, Any]] = asked.request.body["messages"]
        extra = policy.summary if wanted is Trimming.SUMMARY else 0
        cut = find_cut(messages, policy, extra)
        if cut is None or wanted is Trimming.REPORT:
            return replace(asked, trimmed=_note(wanted, cut, len(messages)))
        summary = await self._summed_up(asked, policy, messages, cut) if wanted is Trimming.SUMMARY else None
        if wanted is Trimming.SUMMARY and summary is None:
            # The window's own cut: one with room for a summary would be another cut than the window's next time.
            wanted, cut = Trimming.WINDOW, find_cut(messages, policy) or cut
        kept = without(messages, cut)
        if summary is not None:
            kept.insert(cut.start, as_message(summary))
        try:
            request = with_messages(asked.request, asked.dialect, kept)
        except RequestError:
            return replace(asked, trimmed=Trimmed(Trimming.OFF))
        return replace(asked, request=request, trimmed=_note(wanted, cut, len(kept)))

    async def _summed_up(
        self, asked: Asked, policy: HistoryPolicy, messages: Sequence[Mapping[str, Any]], cut: Cut
    ) -> str | None:
        """Sum up cut by cut, each with the summary before it; what is known already is not asked again."""
        name, now = f"{asked.caller.tenant}\x00{policy.summariser or asked.upstream}", self.clock.monotonic()
        if self.pause.holds(name, now):
            return None
        summary = await self._all_steps(asked, policy, messages, cut)
        self.pause.note(name, self.clock.monotonic(), failed=summary is None)
        return summary

    async def _all_steps(
        self, asked: Asked, policy: HistoryPolicy, messages: Sequence[Mapping[str, Any]], cut: Cut
    ) -> str | None:
        try:
            async with asyncio.timeout(policy.deadline):
                summary, begin = await self._newest(asked, policy, messages, cut)
                while summary is not None and begin < cut.end:
                    end = _as_far_as(messages, begin, cut.steps)
                    summary = await self._made(asked, policy, summary, messages, cut.start, begin, end)
                    begin = end
                return summary
        except TimeoutError:
            return None

    async def _newest(
        self, asked: Asked, policy: HistoryPolicy, messages: Sequence[Mapping[str, Any]], cut: Cut
    ) -> tuple[str | None, int]:
        """Give the summary that is known already and reaches furthest, and where it ends; "" and the beginning for none."""
        if not asked.directives.no_store:
            for end in cut.steps[: -_LOOKED_BACK - 1 : -1]:
                name = self._name(asked, policy, messages[cut.start : end])
                known = await self._known(asked.caller.tenant, name)
                if known is not None:
                    return known, end
        return "", cut.start

    async def _made(
        self,
        asked: Asked,
        policy: HistoryPolicy,
        before: str,
        messages: Sequence[Mapping[str, Any]],
        start: int,
        begin: int,
        end: int,
    ) -> str | None:
        """Have messages summed up, with the summary of what came before them; None when no model gives one that is of use."""
        upstream, _, model = policy.summariser.partition("/")
        try:
            backend = self.backend_of(asked.caller.tenant, upstream or asked.upstream)
        except RequestError:
            return None  # the policy names an upstream that is gone
        task = Task(before, messages[begin:end], model or asked.request.model, policy.summary)
        made = await self._ask(asked, policy, backend, task)
        if made is None or asked.directives.no_store:
            return made
        return await self._keep(asked.caller.tenant, self._name(asked, policy, messages[start:end]), made)

    @staticmethod
    def _name(asked: Asked, policy: HistoryPolicy, messages: Sequence[Mapping[str, Any]]) -> str:
        """Name a summary by all that it stands for, who may have it, and who makes it."""
        caller, model = asked.caller, asked.request.model
        owner = (
            caller.tenant,
            caller.principal,
            asked.upstream,
            policy.summariser,
            model,
            str(policy.summary),
        )
        name = name_of(messages, *owner)
        # By its name a summary is found when somebody is to be erased.
        subject = subject_digest(caller.tenant, asked.directives.user or asked.request.end_user)
        return f"{subject}.{name}" if subject else name

    async def _ask(self, asked: Asked, policy: HistoryPolicy, backend: Backend, task: Task) -> str | None:
        word = self.new_word()
        # A caller's own key goes to the caller's own upstream and nowhere else.
        caller = None if policy.summariser.partition("/")[0] else asked.caller
        headers = [(b"content-type", b"application/json"), (b"accept-encoding", b"identity")]
        headers += auth_of(backend, caller)
        call = UpstreamCall("POST", _PATH, tuple(headers), orjson.dumps(task.body(word)))
        reply = await ask(backend, call, policy.deadline)
        if isinstance(reply, Failed):
            return None
        self.sides.note(_side(asked, backend, task.model, reply.usage, self.clock.now()))
        return cleaned(text_of(reply), policy.summary, word)

    async def _known(self, tenant: TenantId, name: str) -> str | None:
        held = self.known.get(name)
        if held is not None:
            self.known.move_to_end(name)
            return held
        try:
            found = await self.shelf.get(tenant, name)
        except StoreError:
            return None
        if found is not None:
            self._remember(name, found)
        return found

    async def _keep(self, tenant: TenantId, name: str, summary: str) -> str:
        try:
            summary = await self.shelf.put(tenant, name, summary)
        except StoreError:
            _log.info("a summary could not be kept: other replicas may word it differently")
        self._remember(name, summary)
        return summary

    def _remember(self, name: str, summary: str) -> None:
        self.known[name] = summary
        if len(self.known) > _REMEMBERED:
            self.known.popitem(last=False)


def _as_far_as(messages: Sequence[Mapping[str, Any]], begin: int, steps: Sequence[int]) -> int:
    """Give the last cut up to which all can be summed up in one call; the next one at least."""
    later, tokens, end = [step for step in steps if step > begin], 0, begin
    for step in later:
        tokens += sum(tokens_of(text_in(message)) for message in messages[end:step])
        if end > begin and tokens > _AT_ONCE:
            return end
        end = step
    return end


def _note(way: Trimming, cut: Cut | None, kept: int) -> Trimmed:
    return Trimmed(way, cut.dropped, cut.tokens, kept) if cut is not None else Trimmed(way, kept=kept)


def _side(asked: Asked, backend: Backend, model: str, usage: Usage | None, at: float) -> SideRecord:
    return SideRecord(
        kind=SideKind.SUMMARY,
        at=at,
        tenant=asked.caller.tenant,
        domain="",
        model=model,
        backend=backend.generator.name,
        usage=usage,
        request_id=asked.request_id,
        labels=asked.labels,
        key_name=asked.caller.key_name,
        is_local=backend.prefixes is not None,
    )
