"""What a reviewer can say about an entry, and what each of it makes of the entry. Pure.

A verdict is a value; `change_of` turns it into the next version of the entry and the line for the log, which holds
digests of texts and no text. Knows no store.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from semcache.core import CachePolicy, Completion, Entry, JsonObject, Review, ReviewStatus
from semcache.review.access import Role
from semcache.review.answers import digest_of, with_text
from semcache.review.problems import TooLargeError, UnfitError
from semcache.review_port import Act
from semcache.review_rules import AUTHOR, WHOLE

LONGEST_NOTE = 500
LONGEST_LIFE = 10 * 365 * 86_400.0
"""Seconds that anything may be vouched for."""
_ASKED = 24
"""Hex digits that name a question."""


@dataclass(frozen=True, slots=True)
class Approve:
    """The answer is right; until a day (Unix seconds) where one is named. `asked` also says so of that question."""

    until: float | None = None
    asked: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """This is the right answer."""

    text: str = field(repr=False)
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Reject:
    """The answer is wrong: kept for the record, and never served."""


@dataclass(frozen=True, slots=True)
class Purge:
    """The entry goes for good."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The entry must never answer this question (its digest; `*`: any)."""

    asked: str


@dataclass(frozen=True, slots=True)
class Unbar:
    """It may again."""

    asked: str


@dataclass(frozen=True, slots=True)
class Narrow:
    """Only who asked first may get the answer; `on` False takes that back."""

    on: bool = True


@dataclass(frozen=True, slots=True)
class Raise:
    """The entry asks for this similarity on top of the policy's; None takes that back."""

    least: float | None


@dataclass(frozen=True, slots=True)
class Publish:
    """A copy of the answer is for all tenants that take part in public answers."""


@dataclass(frozen=True, slots=True)
class Reopen:
    """Nobody has said anything about the answer; who may get it stays as it was settled."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something for the record; changes nothing."""


Verdict = Approve | Edit | Reject | Purge | Bar | Unbar | Narrow | Raise | Publish | Reopen | Note


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be done: the next version (None: the entry goes), the line, and questions to bar or not any more."""

    entry: Entry | None
    act: Act
    bar: tuple[str, ...] = ()
    unbar: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """Who says it, when (Unix seconds), and what they add."""

    by: str
    at: float
    note: str = ""


def word_of(verdict: Verdict) -> str:
    """Name a verdict as the log does."""
    match verdict:
        case Narrow(on=False):
            return "widen"
        case _:
            return type(verdict).__name__.lower()


def role_for(verdict: Verdict) -> Role:
    """Give the role that a verdict needs: what cannot be taken back, or leaves the tenant, is an operator's."""
    return Role.OPERATOR if isinstance(verdict, Purge | Publish) else Role.REVIEWER


def needs_policy(verdict: Verdict) -> bool:
    """True for verdicts that are bound to the policy of the entry's domain."""
    return isinstance(verdict, Approve | Edit | Publish)


def change_of(entry: Entry, verdict: Verdict, said: Said, policy: CachePolicy | None) -> Change:
    """Say what a verdict makes of an entry. Notes and publishing change none (see `act_of`).

    Args:
        entry: as it stands there.
        verdict: what is said about it.
        said: by whom, and when.
        policy: of the entry's domain now; only `Approve` and `Edit` need it, None binds the flag to no policy.

    Raises:
        UnfitError: it does not fit this entry.
        TooLargeError: an edit makes the entry larger than the policy allows.
    """
    match verdict:
        case Bar(asked):
            return _barred(entry, asked, said)
        case Unbar(asked):
            return _unbarred(entry, asked, said)
        case Purge():
            return Change(None, act_of(entry, verdict, said, None))
        case Publish() | Note():
            return Change(entry, act_of(entry, verdict, said, entry))
        case _:
            changed = replace(_changed(entry, verdict, said, policy), version=entry.version + 1)
            return Change(changed, act_of(entry, verdict, said, changed), *_marks(entry, verdict))


def _marks(entry: Entry, verdict: Verdict) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the marks under the entry's exact key that go with a verdict: to be set, and to be taken away.

    Who vouches for an answer has looked at the complaint that took it out of service. That answers to a question are
    personal is true of those to come, too.
    """
    match verdict:
        case Approve() | Edit() if WHOLE in entry.barred:
            return (), (WHOLE,)
        case Narrow(on=True):
            return (AUTHOR,), ()
        case Narrow(on=False) if AUTHOR in entry.barred:
            return (), (AUTHOR,)
        case _:
            return (), ()


def _changed(
    entry: Entry,
    verdict: Approve | Edit | Reject | Reopen | Narrow | Raise,
    said: Said,
    policy: CachePolicy | None,
) -> Entry:
    match verdict:
        case Approve(until):
            return _vouched(entry, ReviewStatus.APPROVED, said, policy, until)
        case Edit(text, until):
            completion = with_text(entry.completion, text)
            _check_size(completion, policy)
            # Its words are from now, whatever stood there before.
            edited = replace(
                entry,
                completion=completion,
                origin=entry.origin or f"edit:{entry.id}",
                created_at=said.at,
            )
            return _vouched(edited, ReviewStatus.EDITED, said, policy, until)
        case Reject():
            return replace(entry, status=ReviewStatus.REJECTED, review=_settled(entry, said))
        case Reopen():
            return _reopened(entry, said, policy)
        case Narrow(on):
            return _narrowed(entry, on=on)
        case Raise(least):
            return replace(entry, review=replace(entry.review, least=_similarity(least)))


def act_of(entry: Entry, verdict: Verdict, said: Said, changed: Entry | None) -> Act:
    """Write a verdict down: what was different before and after it."""
    before, after = state_of(entry), state_of(changed) if changed is not None else {"gone": True}
    odd = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return Act(
        who=said.by,
        at=said.at,
        what=word_of(verdict),
        entry=entry.id,
        before={name: before[name] for name in sorted(odd & before.keys())},
        after={name: after[name] for name in sorted(odd & after.keys())},
        note=checked_note(said.note),
    )


def state_of(entry: Entry) -> dict[str, Any]:
    """Give what verdicts change of an entry, as plain values without any text."""
    review = entry.review
    return {
        "status": entry.status.value,
        "version": entry.version,
        "answer": digest_of(entry.completion),
        "expires": entry.expires_at,
        "until": review.until,
        "edition": review.edition,
        "least": review.least,
        "only_author": bool(review.only),
    }


def checked_note(note: str) -> str:
    """Give a note on one line, without controls.

    Raises:
        UnfitError: longer than `LONGEST_NOTE` characters.
    """
    if len(note) > LONGEST_NOTE:
        raise UnfitError("bad-note", f"A note has at most {LONGEST_NOTE} characters.", "note")
    text = "".join(char if char.isprintable() else " " for char in note)
    return " ".join(text.split())


def checked_asked(asked: str) -> str:
    """Give the digest of a question.

    Raises:
        UnfitError: it is none.
    """
    if asked == WHOLE or (len(asked) == _ASKED and all(char in "0123456789abcdef" for char in asked)):
        return asked
    raise UnfitError("bad-question", "A question is named by its digest, or '*' for all.", "asked")


def _vouched(
    entry: Entry, status: ReviewStatus, said: Said, policy: CachePolicy | None, until: float | None
) -> Entry:
    if until is not None and not said.at < until <= said.at + LONGEST_LIFE:
        raise UnfitError("bad-until", "'until' must lie ahead, within ten years.", "until")
    end = until if until is not None else said.at + (policy.review.verified_ttl if policy else 0.0)
    end = max(entry.expires_at, end)
    if policy is not None and policy.max_age is not None:
        # Kept for longer than it may be served, it would only stand in the way of newer answers.
        end = min(end, entry.created_at + policy.max_age)
        if end <= said.at:
            message = "The answer is older than the policy serves any; edit it instead of approving it."
            raise UnfitError("too-old", message, "verdict")
    review = replace(_settled(entry, said), until=until, edition=policy.edition if policy is not None else "")
    return replace(entry, status=status, review=review, expires_at=end)


def _settled(entry: Entry, said: Said) -> Review:
    return replace(entry.review, by=said.by, at=said.at, until=None, edition="")


def _reopened(entry: Entry, said: Said, policy: CachePolicy | None) -> Entry:
    review = replace(entry.review, by="", at=0.0, until=None, edition="")
    # A lifetime that was given by an approval ends with it.
    end = min(entry.expires_at, said.at + policy.ttl) if policy is not None else entry.expires_at
    return replace(entry, status=ReviewStatus.UNREVIEWED, review=review, expires_at=end)


def _narrowed(entry: Entry, *, on: bool) -> Entry:
    if on and not entry.author:
        raise UnfitError("no-author", "Nobody knows who asked first: reject the answer, or bar questions.")
    return replace(entry, review=replace(entry.review, only=entry.author if on else ""))


def _similarity(least: float | None) -> float | None:
    if least is not None and not (math.isfinite(least) and 0.0 < least <= 1.0):
        raise UnfitError("bad-threshold", "A threshold lies above 0 and is at most 1.", "least")
    return least


def _barred(entry: Entry, asked: str, said: Said) -> Change:
    asked = checked_asked(asked)
    if asked in entry.barred:
        raise UnfitError("already-barred", "The entry is barred from this question already.", "asked")
    changed = replace(entry, version=entry.version + 1, barred=entry.barred | {asked})
    act = act_of(entry, Bar(asked), said, changed)
    return Change(changed, _with(act, {"barred": asked}), bar=(asked,))


def _unbarred(entry: Entry, asked: str, said: Said) -> Change:
    # What was barred under other names (`@`) can be taken back too.
    if asked not in entry.barred:
        raise UnfitError("not-barred", "The entry is not barred from this question.", "asked")
    changed = replace(entry, version=entry.version + 1, barred=entry.barred - {asked})
    act = act_of(entry, Unbar(asked), said, changed)
    return Change(changed, _with(act, {"unbarred": asked}), unbar=(asked,))


def _with(act: Act, more: JsonObject) -> Act:
    return replace(act, after={**act.after, **more})


def _check_size(completion: Completion, policy: CachePolicy | None) -> None:
    if policy is not None and completion.size > policy.max_entry_bytes:
        raise TooLargeError(policy.max_entry_bytes)
