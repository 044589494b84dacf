"""Who may get an answer that nobody but its author has got so far, and when another answer confirms it. Pure.

A stored answer is what a model said once, to somebody who chose every word of the question. Until others got the same from the
model themselves, or a human vouches for it, it is its author's alone where the policy says so (`core.Confirmation`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from semcache.core import CachePolicy, Confirmation, ConfirmedBy, Entry, Scope
from semcache.decide.answers.comparison import Comparison
from semcache.review_rules import BY_JUDGE, PUBLIC


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks what; empty: not known.

    `asked` names the question (`Entry.barred`), `who` whoever asks (`Entry.author`). `is_person`: that is one person, as far
    as the caller says: an end user is named, or the key is one of their own. `is_attested`: the name is told under a key
    of the tenant's, so that the tenant's own application vouches for it; only such users confirm anything.
    """

    asked: str = ""
    who: str = ""
    is_person: bool = False
    is_attested: bool = False


NOBODY = Asker()


def is_asked_for(policy: CachePolicy) -> bool:
    """True where answers are shared that may be new: where each user has their own there is nothing to confirm."""
    return policy.confirmation.by is not ConfirmedBy.NONE and policy.scope is not Scope.USER


def is_unconfirmed(policy: CachePolicy, entry: Entry, asker: Asker, is_vouched: bool) -> bool:
    """True when an answer may not go to this asker, since too few got it from the model themselves.

    Args:
        policy: what is asked for, as it stands now.
        entry: the stored answer.
        asker: who would get it.
        is_vouched: whether somebody vouches for it; a model that does (`review_rules.BY_JUDGE`) is no human.
    """
    if not is_asked_for(policy) or entry.tenant == PUBLIC or (is_vouched and not _by_model(entry)):
        return False
    return not (_is_own(entry, asker) or _is_shared(policy.confirmation, entry, asker))


def counted(entry: Entry) -> int:
    """Give how many users are known to have got this answer from the model themselves."""
    return len(entry.confirmed)


def _by_model(entry: Entry) -> bool:
    return entry.review.by.startswith(BY_JUDGE)


def _is_own(entry: Entry, asker: Asker) -> bool:
    """True for the author; a name that a key vouches for is not that of somebody who only claims it, and the reverse."""
    is_author = asker.is_person and bool(asker.who) and asker.who == entry.author
    return is_author and (entry.author in entry.confirmed) == asker.is_attested


def _is_shared(rule: Confirmation, entry: Entry, asker: Asker) -> bool:
    if rule.by is not ConfirmedBy.USERS:
        return False
    return counted(entry) >= rule.users or (asker.is_attested and asker.who in entry.confirmed)


_POINTERS = re.compile(
    r"(?:https?://|www\.)[^\s<>()\"']+"
    r"|[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{1,64}"
    r"|\b(?:[a-z0-9-]{2,63}\.){1,8}[a-z]{2,24}\b(?:/[^\s<>()\"']*)?"
    r"|\+?\d[\d\s()./-]{5,30}\d",
    re.IGNORECASE,
)
"""What sends a reader somewhere: addresses of pages and mail, names of hosts, numbers to call or to pay to."""
_LONGEST = 32_768


def confirms(question: str, cached: str, fresh: str, found: Comparison) -> bool:
    """True when a fresh answer to a near question says what the stored one says, and that sends nobody elsewhere.

    Args:
        question: what was asked now.
        cached: text of the stored answer.
        fresh: text of the model's answer now.
        found: what comparing the two gave.
    """
    if found.agree is not True or max(len(cached), len(fresh)) > _LONGEST:
        return False
    return _pointers(cached) <= _pointers(fresh) | _pointers(question)


def _pointers(text: str) -> frozenset[str]:
    return frozenset(re.sub(r"[\s()/.,;:-]+", "", one.casefold()) for one in _POINTERS.findall(text))
