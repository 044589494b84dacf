"""Whether answers can be repeated is remembered, never for another answer."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from semcache.core import Completion, Entry, EntryId
from semcache.dialects.chat.answer import complete
from semcache.dialects.dialect import Dialect, Wanted
from semcache.dialects.repeating import Repeatable
from semcache.dialects.table import ALL
from tests.decide.build import entry

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def answered(**message: object) -> Completion:
    said = {"role": "assistant", "content": "Yes.", **message}
    document = {
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": said, "finish_reason": "stop"}],
    }
    found = complete(document)
    assert isinstance(found, Completion)
    return found


PLAIN = answered()
ANSWERS = (
    PLAIN,
    answered(audio={"id": "a", "data": "x"}),
    answered(reasoning_content="Hm."),
    replace(PLAIN, chunks=orjson.dumps([{"choices": []}])),
)


class Counted:
    """A dialect that counts how often it is asked."""

    def __init__(self, answer: bool = True) -> None:
        self.asked = 0
        self.answer = answer

    def can_replay(self, completion: Completion, *, stream: bool) -> bool:
        del completion, stream
        self.asked += 1
        return self.answer


def ask(memo: Repeatable, found: Entry, dialect: object, *, stream: bool = False) -> bool:
    return memo(found, dialect, stream=stream)  # type: ignore[arg-type]  # the one method that is asked


@pytest.mark.parametrize("dialect", ALL, ids=lambda dialect: dialect.name)
def test_it_says_what_the_dialect_says(dialect: Dialect) -> None:
    memo = Repeatable()
    entries = [entry(f"e{number}", completion=found) for number, found in enumerate(ANSWERS)]
    for _ in range(2):
        for found in entries:
            for stream in (False, True):
                told = memo(found, dialect, stream=stream)
                assert told == dialect.can_replay(found.completion, stream=stream)


@pytest.mark.parametrize("answer", [True, False])
def test_the_same_answer_is_looked_at_once(answer: bool) -> None:
    memo, dialect = Repeatable(), Counted(answer)
    found = entry("e", completion=PLAIN)
    assert [ask(memo, found, dialect) for _ in range(3)] == [answer] * 3
    assert ask(memo, replace(found, domain="another"), dialect) == answer
    assert dialect.asked == 1


def test_another_answer_is_looked_at_by_itself() -> None:
    memo, dialect, other = Repeatable(), Counted(), Counted(answer=False)
    found = entry("e", completion=PLAIN)
    assert ask(memo, found, dialect)
    assert not ask(memo, found, other)
    others = (
        replace(found, id=EntryId("f")),
        replace(found, version=found.version + 1),
        replace(found, created_at=found.created_at + 1),
        replace(found, completion=answered(content="No, no.")),
    )
    for number, another in enumerate(others, 2):
        assert ask(memo, another, dialect)
        assert dialect.asked == number
    assert ask(memo, found, dialect, stream=True)
    assert dialect.asked == len(others) + 2


def test_memory_is_bounded_and_the_oldest_goes_first() -> None:
    memo, dialect = Repeatable(most=3), Counted()
    for number in range(10):
        ask(memo, entry(f"e{number}", completion=PLAIN), dialect)
    assert (len(memo), dialect.asked) == (3, 10)
    ask(memo, entry("e9", completion=PLAIN), dialect)
    assert dialect.asked == 10
    ask(memo, entry("e6", completion=PLAIN), dialect)
    assert dialect.asked == 11


SHAPES = (
    b"{}",
    b"[]",
    b"[1]",
    b'[{"choices":[1]}]',
    b'[{"choices":null}]',
    b'{"content":5}',
    b'{"output":[1]}',
)


@pytest.mark.parametrize("dialect", ALL)
@pytest.mark.parametrize("stream", [True, False])
def test_what_no_proxy_has_put_together_is_not_repeated(dialect: Dialect, stream: bool) -> None:
    repeatable = Repeatable()
    for chunks in (None, *SHAPES):
        for native in (None, *SHAPES):
            odd = replace(PLAIN, chunks=chunks, native=native)
            one = entry(f"{chunks!r}{native!r}", completion=odd)
            if repeatable(one, dialect, stream=stream):
                dialect.layout(odd, Wanted(stream, include_usage=stream)).whole(b"x", b"1")
