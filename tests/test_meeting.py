"""Where chats meet, and which of them agree, with the shipped judge behind a fake encoder."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from semcache.core import Namespace, TenantId
from semcache.decide.context import read
from semcache.decide.verify.lexicon import Relation
from semcache.errors import EncoderError
from semcache.meeting import agreeing, meet
from semcache.policy.loader import load_default
from tests.decide.context.build import turns
from tests.fakes.encoder import FakeEncoder
from tests.meeting_parts import candidate, request_of

PLACES = {kind: Namespace(TenantId("t"), kind) for kind in ("standalone", "bound", "opaque")}
POLICY = load_default().by_tenant[TenantId("default")].domains["chat"]
FREE = "When is the season in Bali? | In May. | Which vaccinations do travellers need?"
CASE = "The zipper on my tent broke. | Oh no. | How do I repair it?"
CHATTY = (
    "The zipper on my tent broke. | Oh no. | My goldfish winked at me. | Ha, enjoy! | How do I repair it?"
)


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


async def kept(asked: str, stored: list[str], encoder: FakeEncoder, judge: Judge | None) -> int:
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
