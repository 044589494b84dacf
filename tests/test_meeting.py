"""Where chats meet, and which of them agree, with the shipped judge behind a fake encoder."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from semcache.core import Namespace, TenantId
from semcache.decide.context import ChatJudge, open_judge, read
from semcache.decide.verify.lexicon import Relation
from semcache.decide.verify.verifier import open_verifier
from semcache.errors import EncoderError
from semcache.meeting import agreeing, meet
from semcache.policy.loader import load_default
from tests.decide.context.build import turns
from tests.fakes.encoder import FakeEncoder
from tests.meeting_parts import candidate, request_of

PLACES = {kind: Namespace(TenantId("t"), kind) for kind in ("standalone", "bound", "opaque")}
POLICY = load_default().by_tenant[TenantId("default")].domains["chat"]
FREE = "When is the season in Bali? | In May. | Which vaccinations do travellers to Kenya need?"
CASE = "The zipper on my tent broke. | Oh no. | How do I repair it?"
CHATTY = (
    "The zipper on my tent broke. | Oh no. | My goldfish winked at me. | Ha, enjoy! | How do I repair it?"
)


SWAPPED = [
    (
        "We are renting a cabin in Norway in January. | How cosy. | What clothes are worth packing?",
        "We are hiking along the coast of Sardinia in August. | Lovely. | What clothes are worth packing?",
    ),
    (
        "The choir rehearses in the old chapel. | I see. | When does the building close on Sundays?",
        "My daughter swims in the new indoor pool. | I see. | When does the building close on Sundays?",
    ),
    (
        "The lawn has brown rings. | A fungus? | Which fertilizer do experts recommend?",
        "The blueberries stay small and sour. | A pity. | Which fertilizer do experts recommend?",
    ),
    (
        "Where do greyhounds come from? | Egypt, they say. | How many walks per day are normal?",
        "Why do pugs snore? | Short noses. | How many walks per day are normal?",
    ),
    (
        "My grandmother fractured a wrist. | I am sorry. | How long do casts stay on?",
        "My brother broke a shin. | I am sorry. | How long do casts stay on?",
    ),
    (
        "Our startup moved to Estonia. | Great. | What percentage do companies pay in taxes?",
        "Our startup moved to Texas. | Great. | What percentage do companies pay in taxes?",
    ),
]
"""Whole sentences, each asked in two contexts that change the answer and share no word with it."""


class Judge:
    """Says what it is told to; counts what it is asked."""

    def __init__(self, chance: float = 1.0) -> None:
        self.chance = chance
        self.weighed = 0

    def relation(self, one: str, other: str) -> Relation:
        return Relation(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def score(self, asked: str, stored: str, similarity: float) -> float | None:
        return None

    def one_case(self, row: NDArray[np.float32]) -> float:
        self.weighed += 1
        return self.chance

    def may_drop(self, row: NDArray[np.float32]) -> float:
        return 1.0

    def small_talk(self, encoder: str, vector: NDArray[np.float32]) -> float | None:
        return 3.0


async def place(chat: str, encoder: FakeEncoder) -> str:
    return (await meet(request_of(turns(chat)), PLACES, encoder)).reading.kind


async def test_a_whole_question_far_from_what_was_said_stands_alone() -> None:
    """The fake's vectors of different words are far apart."""
    assert await place(FREE, FakeEncoder()) == "standalone"


async def test_where_the_encoder_cannot_say_a_question_is_bound() -> None:
    for encoder in (FakeEncoder(fault=EncoderError("down", kind="failed")), FakeEncoder(calibrated=False)):
        assert await place(FREE, encoder) == "bound"


async def kept(asked: str, stored: list[str], encoder: FakeEncoder, judge: Judge | ChatJudge | None) -> int:
    request = request_of(turns(asked))
    meeting = await meet(request, PLACES, encoder)
    embedding = await encoder.encode(meeting.reading.text)
    found = [candidate(turns(chat), read(turns(chat), "").context, 0.9) for chat in stored]
    agreed, _ = await agreeing(meeting, request, POLICY, encoder, embedding, found, judge)
    return len(agreed)


async def test_small_talk_is_embedded_and_dropped() -> None:
    encoder = FakeEncoder()
    assert await kept(CASE, [CHATTY], encoder, Judge()) == 1
    assert "My goldfish winked at me." in encoder.calls
    assert await kept(CASE, [CHATTY], FakeEncoder(), None) == 0
    assert await kept(CASE, [CHATTY], FakeEncoder(), Judge(chance=0.1)) == 0


async def test_a_few_candidates_are_judged() -> None:
    judge = Judge(chance=0.1)
    assert await kept(CASE, [CHATTY] * 8, FakeEncoder(), judge) == 0
    assert judge.weighed == 3


async def test_too_much_new_talk_is_not_weighed() -> None:
    encoder = FakeEncoder()
    more = " | ".join(f"My {name} winked at me. | Ha, enjoy!" for name in ("goldfish", "parrot", "hamster", "pony", "snail", "newt", "toad"))  # fmt: skip
    await kept(
        CASE, [f"The zipper on my tent broke. | Oh no. | {more} | How do I repair it?"], encoder, Judge()
    )
    assert not any("winked" in text for text in encoder.calls)


async def test_an_entry_of_another_format_only_misses() -> None:
    encoder = FakeEncoder()
    request = request_of(turns(CASE))
    meeting = await meet(request, PLACES, encoder)
    old = candidate(turns(CASE), b'[1,"","how do i repair it?",[],[],[],[],"","",0]', 1.0)
    agreed, why = await agreeing(meeting, request, POLICY, encoder, await encoder.encode("x"), [old], Judge())
    assert (agreed, why) == ([], ("context-unread",))


async def test_what_agrees_is_measured_by_its_question() -> None:
    """Whole texts are near where all before is equal, whatever is asked."""
    other = CASE.replace("How do I repair it?", "Who sells new ones?")
    request, encoder, judge = request_of(turns(CASE)), FakeEncoder(), Judge()
    meeting = await meet(request, PLACES, encoder)
    found = [candidate(turns(other), read(turns(other), "").context, 0.95)]
    embedding = await encoder.encode(meeting.reading.text)
    agreed, why = await agreeing(meeting, request, POLICY, encoder, embedding, found, judge)
    assert why == ()
    assert all(one.similarity < 0.5 for one in agreed)


@pytest.fixture(scope="module")
def shipped() -> ChatJudge:
    return open_judge(open_verifier())


@pytest.mark.parametrize(("one", "other"), [*SWAPPED, *((other, one) for one, other in SWAPPED)])
async def test_a_whole_sentence_in_another_context_is_not_served(
    shipped: ChatJudge, one: str, other: str
) -> None:
    """No cosine lets it pass: the fake finds question and context far apart, and the texts are said to be near."""
    encoder = FakeEncoder()
    assert await place(one, encoder) == await place(other, encoder) == "bound"
    assert await kept(one, [other], encoder, shipped) == 0
    assert await kept(one, [one], encoder, shipped) == 1
