"""What is stored of a chat beside its last question: compact, frozen, the same bytes in every process.

A record holds the clauses that may bear on the question, nothing else of the chat, and is
bounded. Bytes that are no record of this format give None: such an entry agrees with nothing.
Knows nothing of how clauses are chosen or compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

MAX_BYTES = 8_192
"""Of a record; a chat that needs more is opaque."""
_FORMAT = 2
_FIELDS = 13


@dataclass(frozen=True, slots=True)
class Record:
    """What bears on a last question.

    `system` is a digest of the system prompt, `last` the last user text without courtesies,
    `told` the user's clauses, `asides` those of them that look like small talk, `heard` the
    assistant's clauses, `offer` the last sentences of the assistant's last turn (what a short
    reply answers), `item` the list item pointed at, `reply` its sign, `index` the place. `told_at` and
    `asides_at` say in which turn each clause was said, `social` which turns of the user were answered with
    nothing but small talk.
    """

    system: str
    last: str
    told: tuple[str, ...] = ()
    asides: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()
    offer: tuple[str, ...] = ()
    item: str = ""
    reply: str = ""
    index: int = 0
    told_at: tuple[int, ...] = ()
    asides_at: tuple[int, ...] = ()
    social: tuple[int, ...] = ()

    def dump(self) -> bytes | None:
        """Give the stored form, or None when it is too large."""
        fields = [
            self.system,
            self.last,
            self.told,
            self.asides,
            self.heard,
            self.offer,
            self.item,
            self.reply,
            self.index,
            self.told_at,
            self.asides_at,
            self.social,
        ]
        try:
            data = orjson.dumps([_FORMAT, *fields])
        except orjson.JSONEncodeError:
            # Lone surrogates have no stored form.
            return None
        return data if len(data) <= MAX_BYTES else None


def load(data: bytes) -> Record | None:
    """Read a stored record; None for anything else."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(found, list) or len(found) != _FIELDS or found[0] != _FORMAT:
        return None
    _, system, last, *lists, item, reply, index, told_at, asides_at, social = found
    words, places = (system, last, item, reply), (told_at, asides_at, social)
    if not all(isinstance(word, str) for word in words) or not isinstance(index, int):
        return None
    if not all(isinstance(part, list) and all(isinstance(text, str) for text in part) for part in lists):
        return None
    if not all(isinstance(part, list) and all(isinstance(at, int) for at in part) for part in places):
        return None
    told, asides, heard, offer = (tuple(part) for part in lists)
    if len(told) != len(told_at) or len(asides) != len(asides_at):
        return None
    return Record(
        system,
        last,
        told,
        asides,
        heard,
        offer,
        item,
        reply,
        index,
        tuple(told_at),
        tuple(asides_at),
        tuple(social),
    )
