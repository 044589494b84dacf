"""Conversations, known again by what was said last; and what a later request did to the history of an earlier one.

A request goes on with an earlier one when that one's last message stands in its history. Bounded in number and size;
nothing is compared across tenants.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from semcache.cost_port import Cause
from semcache.linting.compare import without_digits
from semcache.linting.families import Family
from semcache.linting.heads import Head
from semcache.linting.parting import Parting, made, part
from semcache.linting.prompt import Turn
from semcache.linting.rules import LintRules
from semcache.tokens import tokens_of

Alike = tuple[str, int]
"""Model, and mark of the head."""
_LEAST = 24
"""Characters a message has that stands for itself; shorter ones only with the one before."""
_LONGEST_SHAPE = 4_000
_LOOKED_BACK = 64
_SHAPES_LOOKED_BACK = 8
_GENERATIONS = 3
_MOST_COMPARED = 48
"""Messages of one history that are laid side by side."""
_FINER = frozenset(
    {Cause.TIME, Cause.UUID, Cause.IDENTIFIER, Cause.COUNTER, Cause.WHITESPACE, Cause.KEY_ORDER}
)


@dataclass(eq=False, slots=True)
class Talk:
    """An earlier request: its messages, what they hash to (in this process), and what stood before them."""

    tenant: str
    model: str
    head: Head
    family: Family
    turns: tuple[Turn, ...]
    marks: tuple[int, ...]
    previous: Talk | None
    keys: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The earlier request that one goes on with: `last` is where the message said last stands in it, `at` in the new one."""

    talk: Talk
    last: int
    at: int


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What happened to a history: the message at which it parts, and how many tokens behind that both have."""

    place: int
    parting: Parting
    tokens: int


class Talks:
    """The conversations of a linter; `rules` bounds them."""

    def __init__(self, rules: LintRules) -> None:
        self._rules = rules
        self._talks: OrderedDict[int, Talk] = OrderedDict()
        self._by_key: dict[int, Talk] = {}
        self._turns = 0
        self._characters = 0

    def __len__(self) -> int:
        return len(self._talks)

    def continued(
        self, tenant: str, alike: Alike, turns: Sequence[Turn], marks: Sequence[int]
    ) -> Found | None:
        """Find the request that this one goes on with; None: it begins a conversation.

        Args:
            tenant: whose it is.
            alike: its model and head: of several requests, one with the same is taken.
            turns: its messages.
            marks: what they hash to.
        """
        last = len(turns) - 2
        for at in range(last, max(-1, last - _LOOKED_BACK), -1):
            for key in _keys(tenant, turns, marks, at):
                talk = self._by_key.get(hash((key, alike))) or self._by_key.get(key)
                if talk is not None:
                    return self._found(talk, marks[at], at)
        for at in [place for place in range(last, -1, -1) if turns[place].role == "user"][
            :_SHAPES_LOOKED_BACK
        ]:
            talk = self._by_key.get(_shape(tenant, turns[at]))
            if talk is not None:
                return Found(talk, _last_user(talk.turns), at)
        return None

    def keep(
        self,
        found: Found | None,
        tenant: str,
        model: str,
        head: Head,
        family: Family,
        turns: tuple[Turn, ...],
        marks: tuple[int, ...],
    ) -> None:
        """Remember a request; of those before it in its conversation a few are kept, for histories that fork."""
        if not turns:
            return
        previous = found.talk if found is not None else None
        talk = Talk(tenant, model, head, family, turns, marks, previous)
        user = _last_user(turns)
        places = {len(turns) - 1, user}
        keys = [key for place in places for key in _keys(tenant, turns, marks, place)]
        keys += [hash((key, (model, head.mark))) for key in keys]
        talk.keys = (*keys, _shape(tenant, turns[user]))
        self._talks[id(talk)] = talk
        self._by_key.update(dict.fromkeys(talk.keys, talk))
        self._turns += len(turns)
        self._characters += _size(talk)
        self._forget_ancestor(talk)
        rules = self._rules
        while self._talks and (
            len(self._talks) > rules.talks or self._turns > rules.turns or self._characters > rules.characters
        ):
            self._drop(next(iter(self._talks.values())))

    def _found(self, talk: Talk, mark: int, at: int) -> Found:
        last = len(talk.marks) - 1
        return Found(talk, last if talk.marks[last] == mark else _last_user(talk.turns), at)

    def _forget_ancestor(self, talk: Talk) -> None:
        oldest: Talk | None = talk
        for _ in range(_GENERATIONS):
            oldest = oldest.previous if oldest is not None else None
        if oldest is None:
            return
        self._drop(oldest)
        younger = talk
        while younger.previous is not None and younger.previous is not oldest:
            younger = younger.previous
        younger.previous = None

    def _drop(self, talk: Talk) -> None:
        if self._talks.pop(id(talk), None) is None:
            return
        self._turns -= len(talk.turns)
        self._characters -= _size(talk)
        talk.previous = None
        for key in talk.keys:
            if self._by_key.get(key) is talk:
                del self._by_key[key]


def marks_of(turns: Sequence[Turn]) -> tuple[int, ...]:
    """Hash each message; good in this process only."""
    return tuple(hash((turn.role, turn.text)) for turn in turns)


def rewrite_of(found: Found, turns: Sequence[Turn], marks: Sequence[int]) -> Rewrite | None:
    """Say what happened to the history on the way; None: it was only appended to."""
    before, last, at = found.talk.marks, found.last, found.at
    place = next((k for k in range(min(last, at) + 1) if before[k] != marks[k]), None)
    if place is None:
        return None if last == at else _dropped(found, turns, marks, min(last, at) + 1)
    return _in_place(found, turns, marks, place) if last == at else _dropped(found, turns, marks, place)


def _dropped(found: Found, turns: Sequence[Turn], marks: Sequence[int], place: int) -> Rewrite | None:
    """Messages went, or became others in another number; what follows them to the last one is the same."""
    kept = 0
    while kept <= min(found.at, found.last) - place and (
        found.talk.marks[found.last - kept] == marks[found.at - kept]
    ):
        kept += 1
    tokens = sum(tokens_of(turn.text) for turn in turns[found.at + 1 - kept : found.at + 1])
    is_window = kept == found.at + 1 - place and found.last > found.at
    cause = Cause.HISTORY_WINDOW if is_window else Cause.HISTORY_REWRITTEN
    text = turns[place].text if place < len(turns) else ""
    return Rewrite(place, made(cause, text, 0, 0, "", overlap=0.0), tokens)


def _in_place(found: Found, turns: Sequence[Turn], marks: Sequence[int], place: int) -> Rewrite:
    """Messages became others where they stand."""
    first: Parting | None = None
    tokens = compared = 0
    for k in range(place, found.at + 1):
        if found.talk.marks[k] == marks[k]:
            tokens += tokens_of(turns[k].text)
            continue
        compared += 1
        parting = part(found.talk.turns[k].text, turns[k].text) if compared <= _MOST_COMPARED else None
        finer = parting is not None and parting.cause in _FINER
        if k == place:
            first = parting if finer else None
        if finer and parting is not None:
            tokens += parting.shared
    if first is None:
        first = made(Cause.HISTORY_REWRITTEN, turns[place].text, 0, 0, "", overlap=0.0)
    return Rewrite(place, first, tokens)


def _keys(tenant: str, turns: Sequence[Turn], marks: Sequence[int], at: int) -> Iterator[int]:
    """Name a message: with the one before, and by itself where it is long or the first."""
    if at > 0:
        yield hash((tenant, marks[at - 1], marks[at]))
    if at == 0 or len(turns[at].text) >= _LEAST:
        yield hash((tenant, marks[at]))


def _shape(tenant: str, turn: Turn) -> int:
    """Name a message by all of it but its digits; of one too short or too long, which says nothing, by all of it."""
    text = turn.text
    plain = without_digits(text) if _LEAST <= len(text) <= _LONGEST_SHAPE else text
    return hash((tenant, "shape", plain if len(text) >= _LEAST else (text, id(turn))))


def _last_user(turns: Sequence[Turn]) -> int:
    last = len(turns) - 1
    return next((place for place in range(last, -1, -1) if turns[place].role == "user"), last)


def _size(talk: Talk) -> int:
    return sum(len(turn.text) for turn in talk.turns)
