"""A chat read once: does its last question stand alone, and what bears on it if it does not?

`standalone` needs all of: a whole question that points at nothing said before, shares no content
with the history, and no standing instruction or fact of the user that could reach it.
Everything else is `bound`, with a record of what was said, or `opaque` where that cannot be told.
Knows nothing of entries, vectors, encoders or policies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal

from semcache.decide.context import last, listing
from semcache.decide.context.clauses import asks, sentences
from semcache.decide.context.reach import Reach, reach
from semcache.decide.context.record import Record
from semcache.decide.context.sayings import heard, pieces, social, told
from semcache.decide.context.smalltalk import topics
from semcache.decide.context.standing import promises
from semcache.decide.context.turns import Turn, last_text, plain
from semcache.decide.context.words import is_function, units, words_of
from semcache.decide.language import detect
from semcache.decide.text import MAX_TOKENS, is_han
from semcache.decide.text import read as tokens_of

Kind = Literal["standalone", "bound", "opaque"]

TEXT_WIDTH = 800
"""Of a resolved text, in Latin characters; a Han character takes four: inside of a window of 256 tokens."""
_HAN_WIDTH = 4
_MAX_LAST = 2_000
"""Characters of a last question in a chat; a longer one carries a payload."""
MAX_CLAUSES = 120
"""Clauses that bear on a question at most: every one is set against every one of another chat."""
_CODE = ("```", "\t", "{", "}", "=>", "==", "</", "();", "$(")
_OWN = ("", "latin", "en", "zh")
_MATTERS_FIRST = frozenset(("leisure", "family", "pets", "food", "feast", "work"))
_OWN_WISH = 2
_MANY_WORDS = 6
_KNOWN_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Reading:
    """What a chat comes to.

    Attributes:
        kind: `standalone`, `bound`, or `opaque` (only byte-equal histories may match).
        text: What is embedded and searched. Standalone and opaque: the last user text as it is.
            Bound: the last question, then what it answers or points at, then what the user said,
            newest first, cut at `TEXT_WIDTH`.
        context: What bears on the question, as stored bytes (at most 8 KiB), see `record`.
        background: What the user said before a question that seems to stand alone though words
            cannot be sure of it; "" where nothing is left to be settled. See `settle`.
        otherwise: The reading that holds when the background is near.
        apart: Cosine under which it is not.
    """

    kind: Kind
    text: str
    context: bytes
    background: str = ""
    otherwise: Reading | None = None
    apart: float = 0.2


APART = 0.2
"""Cosine on the reference scale under which question and background are of two subjects.

Of ten questions each that go on with the subject in new words and that begin another one, it
tells nine rightly; in chats about one shop cosines up to 0.5 tell nothing, and those are near.
"""


_APART_OF = {Reach.UNSURE: APART, Reach.DOUBTFUL: 0.4}


def settle(reading: Reading, cosine: float | None) -> Reading:
    """Give the reading that holds, by the cosine of its text and its background (None: not measured)."""
    if reading.otherwise is None:
        return reading
    # What is not a number is near.
    stands = _below(cosine, reading.apart)
    return replace(reading, background="", otherwise=None) if stands else reading.otherwise


def _below(cosine: float | None, apart: float) -> bool:
    return cosine is not None and cosine < apart


def read(turns: Sequence[object], system: str) -> Reading:
    """Read a chat.

    Args:
        turns: The messages as they came over the wire, hostile or not; leading system messages are skipped.
        system: The text of the system prompt.
    """
    chat = plain(turns)
    if chat is None:
        return _opaque(turns, system)
    asked = chat[-1].text
    alone = Reading("standalone", asked, _dumped(Record(_digest(system), "")))
    if len(chat) == 1:
        return alone
    if len(asked) > _MAX_LAST or any(_unreadable(turn) for turn in chat):
        return _opaque(turns, system)
    if any(promises(turn.text) for turn in chat[:-1] if not turn.user):
        return _opaque(turns, system)
    record = _record(chat, system)
    data = None if record is None else record.dump()
    if record is None or data is None:
        return _opaque(turns, system)
    bound = Reading("bound", resolved(record), data)
    match Reach.BEARS if record.reply or record.index else reach(chat[:-1], asked):
        case Reach.APART:
            return alone
        case Reach.UNSURE | Reach.DOUBTFUL as found:
            return _open(alone, bound, record, _APART_OF[found])
        case Reach.BEARS:
            return bound


def _open(alone: Reading, bound: Reading, record: Record, apart: float) -> Reading:
    """Give a reading that stands alone unless what was said before turns out to be near it."""
    background = _fit(list(reversed((*record.told, *record.asides))))
    if not background:
        return alone
    # The multilingual encoder gives Chinese of one subject and of two the same cosines.
    if any(is_han(character) for character in alone.text):
        return bound
    return replace(alone, background=background, otherwise=bound, apart=apart)


def _record(chat: tuple[Turn, ...], system: str) -> Record | None:
    """Collect what may bear on the last question; None when it is too much, or what it points at is not there."""
    user, assistant = tuple(told(chat[:-1])), tuple(heard(chat[:-1]))
    own = last.meant(chat[-1].text)
    # `No, I want a refund` says by itself what is wanted; `yes` never does.
    wishes = own.reply == "-" and (asks(own.body) or len(set(units(own.body))) >= _OWN_WISH)
    bare = own.reply and not wishes
    offer = tuple(sentences(chat[-2].text)) if bare else ()
    item = listing.item([turn.text for turn in chat[:-1] if not turn.user], own.index) if own.index else ""
    if (bare and not any(units(part) for part in offer)) or (own.index and not item):
        return None
    if len(user) + len(assistant) > MAX_CLAUSES:
        return None
    # What a user says first is the matter, whatever it sounds like.
    kept = [piece for part in sentences(own.body) for piece in pieces(part)]
    asked = [piece for piece in kept if not topics(piece)]
    by_the_way = [
        i for i, (_, part) in enumerate(user) if topics(part) - (frozenset() if i else _MATTERS_FIRST)
    ]
    told_of = [at for i, at in enumerate(user) if i not in by_the_way]
    asides = [
        *(user[i] for i in by_the_way),
        *((len(chat) - 1, piece) for piece in kept if asked and topics(piece)),
    ]
    return Record(
        system=_digest(system),
        last=" ".join(asked) if asked else own.body,
        told=tuple(part for _, part in told_of),
        asides=tuple(part for _, part in asides),
        heard=assistant,
        offer=offer,
        item=item,
        reply=own.reply,
        index=own.index,
        told_at=tuple(place for place, _ in told_of),
        asides_at=tuple(place for place, _ in asides),
        social=tuple(social(chat[:-1])),
    )


def _unreadable(turn: Turn) -> bool:
    """True for code, and for text in a language whose small words are not known here."""
    if any(mark in turn.text for mark in _CODE):
        return True
    words = words_of(turn.text)
    if len(words) >= MAX_TOKENS:
        return True
    latin = [word for word in words if word[0].isalpha() and not is_han(word)]
    known = sum(1 for word in latin if is_function(word))
    if known < _KNOWN_SHARE * len(words) and detect(tokens_of(turn.text)) not in _OWN:
        return True
    return turn.user and len(latin) >= _MANY_WORDS and known == 0


def resolved(record: Record) -> str:
    """Give the text by which a bound chat is embedded, searched and judged."""
    return _fit([record.last, record.item, *record.offer, *reversed(record.told)])


def _fit(parts: Sequence[str]) -> str:
    """Join what fits into `TEXT_WIDTH`, first things first."""
    text: list[str] = []
    left = TEXT_WIDTH
    for part in filter(None, parts):
        cut = _fitting(part, left)
        text.append(part[:cut])
        left -= _width(part[:cut]) + 1
        if left <= 0 or cut < len(part):
            break
    return "\n".join(text)


def _width(text: str) -> int:
    return len(text) if text.isascii() else sum(1 if c.isascii() else _HAN_WIDTH for c in text)


def _fitting(text: str, left: int) -> int:
    """Give how many characters fit into the width that is left."""
    for i, character in enumerate(text):
        left -= 1 if character.isascii() else _HAN_WIDTH
        if left < 0:
            return i
    return len(text)


def _opaque(turns: Sequence[object], system: str) -> Reading:
    """Only equal histories agree: the context is a digest of all that came before."""
    digest = blake2b(digest_size=24)
    for message in turns[:-1]:
        digest.update(repr(message).encode("utf-8", "surrogatepass"))
        digest.update(b"\x00")
    data = _dumped(Record(_digest(system), "", heard=(digest.hexdigest(),)))
    return Reading("opaque", last_text(turns), data)


def _dumped(record: Record) -> bytes:
    data = record.dump()
    return b"" if data is None else data


def _digest(system: str) -> str:
    return blake2b(system.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
