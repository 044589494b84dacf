"""What humans settled about an entry, as it bears on one request. Pure.

A human's flag is a promise about an answer as it stood: it holds until the day it was given for, under the policy it
was given under, and for the documents it was checked against. Where one of these has changed the entry
is an unreviewed one again, without anybody having to take the flag away.
"""

from __future__ import annotations

from collections.abc import Iterable

from semcache.core import CachePolicy, Directives, Entry
from semcache.decide.reasons import Reason
from semcache.review_rules import AUTHOR, PUBLIC, WHOLE

_VERSION = "@"
"""Parts a tag into a document and its version: `handbook@v3`."""


def vouched(policy: CachePolicy, directives: Directives, entry: Entry, now: float) -> bool:
    """True when a human vouches for the answer, and what they vouched under still holds.

    Entries without an edition are bound to no policy; those made public to none but their own.
    """
    review = entry.review
    if not entry.status.is_verified or (review.until is not None and not now < review.until):
        return False
    same_policy = review.edition in ("", policy.edition) or entry.tenant == PUBLIC
    return same_policy and not changed_documents(entry.tags, directives.tags)


def changed_documents(stored: Iterable[str], asked: Iterable[str]) -> frozenset[str]:
    """Name the documents of which the asker has another version than the answer was made from.

    A tag `name@version` names a document; tags without a version, and documents that only one side
    names, say nothing.
    """
    ours, theirs = _versions(stored), _versions(asked)
    return frozenset(name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name])


def withheld(entry: Entry, asked: str, asker: str) -> Reason | None:
    """Say why this answer may not go to this question or asker, whatever else speaks for it.

    Args:
        entry: the stored answer.
        asked: what names the question (`Entry.barred`); `WHOLE` for the entry's own.
        asker: what names who asks (`Entry.author`).
    """
    if WHOLE in entry.barred or (asked and asked in entry.barred):
        return Reason.BARRED
    only = entry.author if AUTHOR in entry.barred else entry.review.only
    personal = AUTHOR in entry.barred or bool(entry.review.only)
    # An author that is not known is nobody's name: such an answer is for none.
    return Reason.NARROWED if personal and (not only or only != asker) else None


def _versions(tags: Iterable[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for tag in tags:
        name, mark, version = tag.rpartition(_VERSION)
        if mark and name and version:
            found[name] = found.get(name, frozenset()) | {version}
    return found
