"""Whatever fails in whatever order: nobody is asked twice, nothing stays open, no key goes astray."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.errors import RequestError, UpstreamError
from semcache.routing.balance import Balance
from semcache.routing.route import Retrying
from semcache.routing.target import Target
from tests.fakes.generator import FakeReply
from tests.routing.members import CHAT, OPENAI, FakeMember, chat, gone, late, route, target

FULL = UpstreamError("full", status=503, code="overloaded", untouched=True)
OUTCOMES = [200, 400, 401, 429, 500, 503, gone("x"), late("x"), FULL]
FAILURES = Retrying().statuses


@dataclass
class World:
    """Targets, and the order in which they were asked."""

    targets: list[Target]
    asked: list[FakeMember]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    asked: list[FakeMember] = []

    class Listed(FakeMember):
        async def open(self, call: object) -> FakeReply:
            asked.append(self)
            return await super().open(call)  # type: ignore[arg-type]

    targets = [
        target(
            Listed(
                f"u{number}",
                [draw(st.sampled_from(OUTCOMES))],
                active=draw(st.integers(0, 6)),
                refuses=draw(st.booleans()) and draw(st.booleans()),
                is_full=draw(st.booleans()),
            ),
            weight=draw(st.sampled_from([0.0, 1.0, 3.0])) if number else 1.0,
            is_fallback=draw(st.booleans()) if number else False,
            takes_client_keys=draw(st.booleans()) if number else True,
            speaks=draw(st.sampled_from([CHAT, OPENAI, frozenset({"openai.responses"})]))
            if number
            else OPENAI,
        )
        for number in range(draw(st.integers(1, 5)))
    ]
    return World(sorted(targets, key=lambda one: one.is_fallback), asked)


@given(worlds(), st.booleans(), st.integers(1, 4), st.binary(max_size=32))
@settings(max_examples=200)
def test_whatever_fails(world: World, own_key: bool, tries: int, affinity: bytes) -> None:
    headers = ((b"authorization", b"Bearer client"),) if own_key else ()
    call = chat(affinity=affinity, headers=headers)
    pool = route(*world.targets, balance=Balance(1.25, 4), retrying=Retrying(tries=tries))

    async def opened() -> object:
        try:
            return await pool.open(call)
        except (UpstreamError, RequestError) as error:
            return error

    outcome = asyncio.run(opened())
    asked = world.asked
    by_name = {one.name: one for one in world.targets}
    assert len({member.name for member in asked}) == len(asked), "nobody is asked twice"
    assert asked, "somebody is"
    for member in asked:
        assert "openai.chat" in by_name[member.name].speaks
        assert not own_key or by_name[member.name].takes_client_keys
    last = asked[-1].outcomes[0]
    assert all(
        member.outcomes[0] in FAILURES or member.outcomes[0] in (OUTCOMES[6], FULL) for member in asked[:-1]
    )
    if isinstance(last, int) and last not in FAILURES:
        assert getattr(outcome, "status", None) == last, "an answer is given to the client"
    else:
        first = asked[0].outcomes[0]
        assert getattr(outcome, "status", None) == (first if isinstance(first, int) else first.status)
    made = [reply for member in asked for reply in member.replies]
    given_out = isinstance(outcome, Exception) is False
    assert sorted(reply.closed for reply in made) == [0] * given_out + [1] * (len(made) - given_out)
    counted = [member for member in asked if member.outcomes[0] is not FULL]
    assert len(counted) <= tries
    kinds = [by_name[member.name].is_fallback for member in asked]
    assert kinds == sorted(kinds), "fallbacks come last"
