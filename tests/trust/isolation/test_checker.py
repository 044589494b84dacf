"""The checker can fail: each kind of leak, handed to it as a reply, is caught, and the same reply a little righter is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trust.isolation.asking import drawn
from tests.trust.isolation.corpus import WISHES, Wish
from tests.trust.isolation.model import GRACE, LOST, Book, Reply, Withdrawal
from tests.trust.isolation.wire import stamp_in, text_of
from tests.trust.isolation.world import SMALL, Ask, ExactSeat, Rules, State, exact_of

WISH, OTHER = WISHES[0], WISHES[1]
MADE_AT, ASKED_AT = 10.0, 100.0
ONE = Ask(1, "acme", "sk-acme-1", WISH, WISH.wordings[0], user="ann", tags=("kb-1",))
"""Whose answer it is."""


def book_of(*asks: Ask) -> Book:
    """Give a book in which each ask was answered by the upstream, and whole a second later."""
    book = Book(frozenset({"one"}))
    for ask in asks:
        book.sent[ask.number] = MADE_AT - 1
        book.answered(f"s{ask.number}.0", ask, MADE_AT)
        book.made[f"s{ask.number}.0"].settled = MADE_AT + 1
    return book


def reply(ask: Ask, outcome: str = "exact", at: float = ASKED_AT, **more: Any) -> Reply:
    """Give a reply to an ask with the answer of number 1."""
    told = {"status": 200, "stamp": "s1.0", "replica": "one", "outcome": outcome, **more}
    return Reply(ask=ask, began=at, ended=at + 0.1, **told)


def kinds(book: Book, given: Reply) -> list[str]:
    return [leak.kind for leak in book.leaks(given)]


def asked(**changes: Any) -> Ask:
    return replace(ONE, number=2, **changes)


def exact_seat(ask: Ask = ONE) -> tuple[ExactSeat, str]:
    seat = exact_of(ask, Rules())
    assert seat is not None
    return seat, ask.dialect


# -- who may share ----------------------------------------------------------------------


APART: dict[str, Ask] = {
    "tenant": asked(tenant="gamma", key="sk-gamma-1"),
    "scope": asked(user_by="header"),
    "namespace": asked(namespace="blue"),
    "model": asked(model="m-b"),
    "system": asked(system="You always answer in one short line."),
    "tools": asked(tools="lookup"),
    "parameters": asked(temperature=0.2),
    "topic": asked(topic="ferns"),
    "question": asked(text=WISH.wordings[1]),
}


@pytest.mark.parametrize("kind", APART)
def test_an_answer_for_somebody_else_is_caught(kind: str) -> None:
    book = book_of(ONE)
    assert kinds(book, reply(asked())) == []
    assert kind in kinds(book, reply(APART[kind]))
    assert kind in kinds(book, reply(APART[kind], "miss", collapsed=True)), (
        "also one that was waited for together"
    )


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("owner", replace(ONE, user_by="header"), asked(user="bob", user_by="header")),
        (
            "owner",
            replace(ONE, tenant="beta", key="sk-beta-1"),
            asked(tenant="beta", key="sk-beta-1", user="bob"),
        ),
        (
            "principal",
            replace(ONE, tenant="open", key="sk-stranger-1"),
            asked(tenant="open", key="sk-stranger-2"),
        ),
        (
            "bypass",
            replace(ONE, tenant="beta", key="sk-beta-1"),
            asked(tenant="beta", key="sk-beta-1", user=""),
        ),
    ],
)
def test_users_and_keys_of_their_own_are_kept_apart(kind: str, first: Ask, second: Ask) -> None:
    book = book_of(first)
    assert kinds(book, reply(replace(first, number=2))) == []
    assert kind in kinds(book, reply(second))


def test_another_question_is_no_hit_by_meaning() -> None:
    book = book_of(ONE)
    assert kinds(book, reply(asked(text=WISH.wordings[1]), "semantic")) == []
    assert kinds(book, reply(asked(wish=OTHER, text=OTHER.wordings[0]), "semantic")) == ["question"]
    assert kinds(book, reply(asked(namespace="blue", text=WISH.wordings[1]), "semantic")) == ["namespace"]
    assert kinds(book, reply(asked(topic="ferns"), "semantic")) == [], "its policy resolves conversations"
    leans = Wish("lean", ("How often?",), leans=True)
    first = replace(ONE, wish=leans, text="How often?", topic="orchids")
    again = replace(first, number=2, topic="ferns")
    assert kinds(book_of(first), reply(again, "semantic")) == ["topic"]
    gamma = replace(ONE, tenant="gamma", key="sk-gamma-1")
    assert kinds(book_of(gamma), reply(replace(gamma, number=2, topic="ferns"), "semantic")) == ["topic"]


@given(st.integers(0, 400), st.integers(0, 400))
def test_random_asks_share_only_where_everything_is_equal(first: int, second: int) -> None:
    one, other = replace(drawn(5, first, SMALL), number=1, no_store=False), drawn(5, second, SMALL)
    other = replace(other, number=2, no_cache=False)
    mine, theirs = exact_of(other, Rules()), exact_of(one, Rules())
    shares = mine is not None and mine == theirs
    assert (kinds(book_of(one), reply(other)) == []) == shares


# -- what must not be served at all -----------------------------------------------------


def test_texts_that_are_nobodys_answer_are_caught() -> None:
    book = book_of(ONE)
    assert kinds(book, reply(asked(), stamp="")) == ["garbled"]
    assert kinds(book, reply(asked(), stamp="s9.0")) == ["unknown"]
    assert stamp_in(text_of("s1.0")) == "s1.0"
    assert stamp_in(text_of("s1.0")[:-1]) == "", "cut short"
    assert stamp_in(text_of("s1.0") + " ") == ""
    assert stamp_in(text_of("s1.0").replace("</s1.0>", "</s2.0>")) == "", "two answers in one"


def test_what_a_client_forbids_is_caught() -> None:
    assert kinds(book_of(replace(ONE, no_store=True)), reply(asked())) == ["no-store"]
    assert kinds(book_of(ONE), reply(asked(no_cache=True))) == ["no-cache"]


def test_another_ones_answer_that_is_not_marked_so_is_caught() -> None:
    book = book_of(ONE)
    assert kinds(book, reply(asked(), "miss")) == ["not marked"]
    assert kinds(book, reply(asked(), "bypass")) == ["not marked"]
    assert kinds(book, reply(asked(), "miss", collapsed=True)) == []
    assert kinds(book, reply(ONE, "miss")) == []


# -- policies ---------------------------------------------------------------------------


def changed(state: State, tenant: str = "acme", begun: float = 50.0, taken: float | None = 60.0) -> Book:
    book = book_of(ONE)
    book.policy_begun(tenant, state, begun).taken = taken
    return book


def test_a_policy_binds_once_every_replica_has_it() -> None:
    assert kinds(changed(State.USER), reply(asked())) == ["scope", "owner"]
    assert kinds(changed(State.OFF), reply(asked())) == ["bypass"]
    assert kinds(changed(State.REMOVED), reply(asked())) == ["tenant", "principal"], "a stranger now"
    for state in (State.USER, State.OFF, State.REMOVED):
        assert kinds(changed(state, taken=None), reply(asked())) == [], "nobody knows yet which holds"
        assert kinds(changed(state, begun=ASKED_AT + 5, taken=ASKED_AT + 6), reply(asked())) == []


def test_a_key_that_lets_nobody_in_is_caught() -> None:
    book = changed(State.CLOSED, "open")
    assert kinds(book, reply(asked())) == []
    assert kinds(book, reply(asked(tenant="open", key="sk-stranger-1"))) == ["cut-off key"]
    book.policy_begun("acme", State.REVOKED, 70.0).taken = 80.0
    assert kinds(book, reply(asked(key="sk-acme-2"))) == ["cut-off key"]
    assert kinds(book, reply(asked(key="sk-acme-1"))) == []
    assert book.refused(reply(asked(), status=401))
    assert not book.refused(reply(asked(key="sk-acme-2"), status=401))


def test_a_caller_is_refused_while_its_tenant_goes_and_at_no_other_time() -> None:
    refused = reply(asked(), status=401)
    assert changed(State.USER).refused(refused)
    assert not changed(State.REMOVED, begun=ASKED_AT, taken=None).refused(refused), "let in, and then gone"
    assert changed(State.REMOVED).refused(refused), "a stranger's by then"
    back = changed(State.REMOVED)
    back.policy_begun("acme", State.BASE, ASKED_AT)
    assert back.refused(refused), "nobody who comes back is nobody's"


def test_a_mode_of_equal_requests_serves_none_by_meaning() -> None:
    gamma = replace(ONE, tenant="gamma", key="sk-gamma-1")
    book = book_of(gamma)
    other = replace(gamma, number=2, text=WISH.wordings[1])
    assert kinds(book, reply(other, "semantic")) == []
    book.policy_begun("gamma", State.EXACT, 50.0).taken = 60.0
    assert kinds(book, reply(other, "semantic")) == ["mode"]


# -- withdrawn --------------------------------------------------------------------------


PLACES: dict[str, Callable[[], Any]] = {
    "deleted": lambda: "s1.0",
    "rejected": exact_seat,
    "erased": lambda: ("acme", "subject:ann"),
    "invalidated by tag": lambda: ("acme", "tag:kb-1"),
    "invalidated by model": lambda: ("acme", "model:m-a"),
    "invalidated by tenant": lambda: ("acme", ""),
    "invalidated by namespace": lambda: (exact_seat()[0].seat, "chat", True),
}
"""By which place each kind takes the answer of number 1 away."""


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("outcome", ["exact", "semantic"])
def test_what_was_withdrawn_is_caught_after_a_second(kind: str, outcome: str) -> None:
    def judged(begun: float, acked: float | None, **more: Any) -> list[str]:
        book = book_of(ONE)
        book.begin(Withdrawal(kind, begun, acked, **more), PLACES[kind]())
        return kinds(book, reply(asked(), outcome))

    late = ASKED_AT - GRACE - 0.01
    assert judged(50.0, late) == [kind]
    assert judged(50.0, late + 0.02) == [], "others may take a second to hear of it"
    assert judged(50.0, late + 0.02, at="one") == [kind], "who acknowledged it knows"
    assert judged(50.0, None) == [], "nobody was told that it is done"
    assert judged(MADE_AT - 2, MADE_AT - 1.5) == [], "the answer was made afterwards"
    assert judged(50.0, late, void=True) == []


def test_only_what_an_answer_certainly_belongs_to_takes_it_away() -> None:
    spare = replace(ONE, key="sk-acme-2")
    book = book_of(spare)
    # While its key was being taken away the ask may have come in as a stranger's.
    book.policy_begun("acme", State.REVOKED, 8.0).taken = 12.0
    book.begin(Withdrawal("invalidated by tenant", 50.0, 60.0), ("open", ""))
    assert kinds(book, reply(asked())) == [], "it was not: a caller of the tenant got it"
    assert kinds(book, reply(asked(key="sk-acme-2"))) == ["invalidated by tenant"], "here it was"
    book.begin(Withdrawal("invalidated by tenant", 50.0, 60.0), ("acme", ""))
    assert kinds(book, reply(asked())) == ["invalidated by tenant"]


def test_an_answer_under_way_before_an_invalidation_is_caught_where_it_is_shared_after() -> None:
    book = book_of(ONE)
    book.begin(Withdrawal("invalidated by tenant", 50.0, 60.0), ("acme", ""))
    assert kinds(book, reply(asked(), "miss", collapsed=True)) == ["invalidated by tenant"]


def test_the_longest_time_that_something_withdrawn_was_served_is_known() -> None:
    book = book_of(ONE)
    book.begin(Withdrawal("deleted", 50.0, ASKED_AT - 0.4), "s1.0")
    assert kinds(book, reply(asked())) == []
    assert book.latest == pytest.approx(0.4)


def test_barred_and_narrowed_questions_are_caught_for_answers_to_come_too() -> None:
    later = replace(ONE, number=3)
    book = book_of(ONE, later)
    barred = book.begin(Withdrawal("barred", 5.0, 6.0, to_come=True, stored_only=True), exact_seat())
    assert kinds(book, reply(asked())) == ["barred"]
    assert kinds(book, reply(asked(), stamp="s3.0")) == ["barred"]
    assert kinds(book, reply(asked(), "miss", collapsed=True)) == [], "nothing stored was served"
    barred.lifted = 90.0
    assert kinds(book, reply(asked())) == []

    book = book_of(ONE)
    pair = Withdrawal("complained", 50.0, 60.0, to_come=True, question=WISH.wordings[1])
    book.begin(pair, exact_seat())
    assert kinds(book, reply(asked(text=WISH.wordings[1]), "semantic")) == ["complained"]
    assert kinds(book, reply(asked())) == [], "the pair is barred, not the answer"

    book = book_of(ONE)
    book.begin(Withdrawal("narrowed", 50.0, 60.0, to_come=True, author_only=True), exact_seat())
    assert kinds(book, reply(asked())) == [], "who asked first may have it"
    assert kinds(book, reply(asked(user="bob"))) == ["narrowed"]


def test_an_edited_and_a_replaced_answer_is_caught() -> None:
    book = book_of(ONE)
    book.edited("e1.0", "s1.0")
    book.begin(Withdrawal("edited", 50.0, 60.0), "s1.0")
    assert kinds(book, reply(asked())) == ["edited"]
    assert kinds(book, reply(asked(), stamp="e1.0")) == []
    assert kinds(book, reply(asked(namespace="blue"), stamp="e1.0")) == ["namespace"]

    newer = replace(ONE, number=3)
    book = book_of(ONE)
    book.answered("s3.0", newer, 55.0)
    book.begin(Withdrawal("replaced", 50.0, 60.0), exact_seat())
    assert kinds(book, reply(asked())) == ["replaced"]
    assert kinds(book, reply(asked(), stamp="s3.0")) == []
    book.crashes.append((60.0 + LOST - 0.1, 70.0))
    assert kinds(book, reply(asked())) == [], "nobody was promised that it would be kept"


# -- recall -----------------------------------------------------------------------------


def stored(book: Book, ask: Ask = ONE) -> None:
    book.keep(reply(ask, "miss", MADE_AT, stored=True, stamp=f"s{ask.number}.0"))


def test_hits_that_should_have_been_are_known() -> None:
    book = book_of(ONE)
    assert book.expects(reply(asked())) == ""
    stored(book)
    assert book.expects(reply(asked())) == "exact"
    assert book.expects(reply(asked(text=WISH.wordings[1]))) == "semantic"
    for kind, other in APART.items():
        if kind not in ("question", "topic"):
            assert book.expects(reply(other)) == "", kind
    assert book.expects(reply(asked(no_cache=True))) == ""
    assert book.expects(reply(asked(wish=OTHER, text=OTHER.wordings[0]))) == ""


@pytest.mark.parametrize("kind", PLACES)
def test_nothing_is_expected_of_what_may_be_gone(kind: str) -> None:
    for acked in (60.0, None):
        book = book_of(ONE)
        stored(book)
        book.begin(Withdrawal(kind, 50.0, acked), PLACES[kind]())
        assert book.expects(reply(asked())) == ""
        assert book.expects(reply(asked(text=WISH.wordings[1]))) == ""
    book = book_of(ONE)
    stored(book)
    book.begin(Withdrawal(kind, 1.0, 2.0), PLACES[kind]())
    assert book.expects(reply(asked())) == "exact", "it was made afterwards"


def test_nothing_is_expected_while_the_store_is_away() -> None:
    book = book_of(ONE)
    stored(book)
    book.crashes.append((ASKED_AT - 1, ASKED_AT + 1))
    assert book.expects(reply(asked())) == ""
    assert book.expects(reply(asked(), at=ASKED_AT + 5)) == "exact"


def test_what_was_streamed_by_a_replica_that_is_killed_is_not_known_to_be_stored() -> None:
    book = book_of(ONE)
    book.keep(reply(replace(ONE, stream=True), "miss", at=20.0))
    assert book.expects(reply(asked())) == "exact"
    book.kills.append(("two", 21.0))
    assert book.expects(reply(asked())) == "exact"
    book.kills.append(("one", 21.0))
    assert book.expects(reply(asked())) == ""
    book.keep(reply(ONE, "miss", at=20.0, stored=True))
    assert book.expects(reply(asked())) == "exact", "told to be stored"
