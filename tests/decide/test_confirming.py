"""Who gets an answer that nobody but its author has got so far: the rule as a table, and as properties."""

from __future__ import annotations

import dataclasses
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import (
    CachePolicy,
    Confirmation,
    ConfirmedBy,
    Directives,
    Draft,
    Entry,
    Hit,
    Miss,
    Review,
    ReviewStatus,
    Scope,
    TenantId,
    UntilProven,
)
from semcache.decide.answers.comparison import Comparison, compare
from semcache.decide.confirming import NOBODY, Asker, confirms, is_unconfirmed
from semcache.decide.decision import Candidate, Serving, decide
from semcache.review_rules import PUBLIC
from tests.decide.build import ASKED, NOW, candidate, entry, policy

NONE, USERS, HUMAN = (Confirmation(by, 3) for by in ConfirmedBy)
TWO = Confirmation(ConfirmedBy.USERS, 2)
ANN = Asker("q", "ann", is_person=True, is_attested=True)
BOB = Asker("q", "bob", is_person=True, is_attested=True)
CLAIMS_ANN = Asker("q", "ann", is_person=True)
NAMELESS = Asker("q", "nobody")

OF_ANN = {"author": "ann", "confirmed": frozenset({"ann"})}
CLAIMED_BY_ANN = {"author": "ann"}
BY_NOBODY = {"author": "nobody"}
BY_THREE = {"author": "ann", "confirmed": frozenset({"ann", "cid", "dan"})}
BY_TWO_OF_THREE = {"author": "ann", "confirmed": frozenset({"ann", "bob"})}
VOUCHED = {**OF_ANN, "status": ReviewStatus.APPROVED}
PROMOTED = {**VOUCHED, "review": Review(by="judge:m")}


@pytest.mark.parametrize(
    ("rule", "stored", "asker", "served"),
    [
        (NONE, OF_ANN, BOB, True),
        (NONE, BY_NOBODY, NOBODY, True),
        # The author gets their own; nobody else does.
        (USERS, OF_ANN, ANN, True),
        (USERS, OF_ANN, BOB, False),
        (USERS, OF_ANN, NAMELESS, False),
        (USERS, OF_ANN, NOBODY, False),
        # So many users, the author among them; who got it from the model themselves may have it before that.
        (USERS, BY_THREE, BOB, True),
        (USERS, BY_THREE, NAMELESS, True),
        (USERS, BY_TWO_OF_THREE, NAMELESS, False),
        (USERS, BY_TWO_OF_THREE, BOB, True),
        (TWO, BY_TWO_OF_THREE, NAMELESS, True),
        # A name that somebody only claims is not the name that a key vouches for.
        (USERS, CLAIMED_BY_ANN, ANN, False),
        (USERS, OF_ANN, CLAIMS_ANN, False),
        (USERS, CLAIMED_BY_ANN, CLAIMS_ANN, True),
        (USERS, BY_TWO_OF_THREE, dataclasses.replace(BOB, is_attested=False), False),
        # Those who name no user are not one and the same person.
        (USERS, BY_NOBODY, NAMELESS, False),
        # Humans may always vouch; a model that does is no human.
        (USERS, VOUCHED, BOB, True),
        (HUMAN, VOUCHED, BOB, True),
        (USERS, PROMOTED, BOB, False),
        (HUMAN, PROMOTED, BOB, False),
        # Where only humans count, users do not.
        (HUMAN, BY_THREE, BOB, False),
        (HUMAN, BY_THREE, ANN, True),
    ],
)
def test_who_gets_a_new_answer(
    rule: Confirmation, stored: dict[str, object], asker: Asker, served: bool
) -> None:
    found = entry(**stored)
    vouched = found.status.is_verified
    assert is_unconfirmed(policy(confirmation=rule), found, asker, vouched) is not served


def test_a_flag_that_no_longer_holds_confirms_nothing() -> None:
    assert is_unconfirmed(policy(confirmation=HUMAN), entry(**VOUCHED), BOB, is_vouched=False)


def test_what_an_operator_made_public_needs_nobody() -> None:
    public = entry(tenant=TenantId(PUBLIC), **OF_ANN)
    assert not is_unconfirmed(policy(confirmation=HUMAN), public, BOB, is_vouched=False)


def test_where_each_user_has_their_own_there_is_nothing_to_confirm() -> None:
    assert not is_unconfirmed(policy(confirmation=HUMAN, scope=Scope.USER), entry(**OF_ANN), BOB, False)


names = st.sampled_from(["", "ann", "bob", "cid", "dan"])
askers = st.builds(Asker, st.just("q"), names, st.booleans(), st.booleans())
rules = st.builds(Confirmation, st.sampled_from(ConfirmedBy), st.integers(2, 5))
entries = st.builds(
    lambda author, users, status: entry(author=author, confirmed=users, status=status),
    names,
    st.frozensets(names.filter(bool)),
    st.sampled_from([ReviewStatus.UNREVIEWED, ReviewStatus.APPROVED]),
)


@given(rules, rules, entries, askers)
def test_a_stricter_rule_never_serves_more(
    a: Confirmation, b: Confirmation, found: Entry, asker: Asker
) -> None:
    order = list(ConfirmedBy)
    loose, strict = sorted((a, b), key=lambda rule: (order.index(rule.by), rule.users))
    strict = Confirmation(strict.by, max(a.users, b.users))
    vouched = found.status.is_verified
    if not is_unconfirmed(policy(confirmation=strict), found, asker, vouched):
        assert not is_unconfirmed(policy(confirmation=loose), found, asker, vouched)


@given(rules, entries, askers, names)
def test_one_more_confirmation_never_takes_an_answer_away(
    rule: Confirmation, found: Entry, asker: Asker, more: str
) -> None:
    after = dataclasses.replace(found, confirmed=found.confirmed | {more})
    if found.author != asker.who and not is_unconfirmed(policy(confirmation=rule), found, asker, False):
        assert not is_unconfirmed(policy(confirmation=rule), after, asker, False)


# -- in the decision ------------------------------------------------------------------------


def run(
    *found: Candidate, asker: Asker = BOB, serving: Serving | None = None, mode: str = "auto", **more: object
) -> Hit | Draft | Miss:
    under: CachePolicy = policy(confirmation=TWO, **more)
    wishes = Directives(mode=mode)
    return decide(under, wishes, ASKED, found, NOW, None, serving or Serving(), asker)


def test_what_passes_every_check_but_this_one_is_a_would_be_hit() -> None:
    near = candidate(0.99, **OF_ANN)
    assert run(near) == Hit(near.entry, exact=False, similarity=0.99, shadow=True, unconfirmed=True)
    assert run(near, asker=ANN) == Hit(near.entry, exact=False, similarity=0.99)


def test_all_that_are_too_new_are_named_and_no_more_than_a_few() -> None:
    found = run(
        *(candidate(0.99 - n / 1000, f"e{n}", **OF_ANN) for n in range(9)), candidate(0.5, "far", **OF_ANN)
    )
    assert isinstance(found, Hit)
    assert [found.entry.id, *(entry.id for entry in found.also)] == ["e0", "e1", "e2", "e3"]


def test_behind_a_new_answer_a_confirmed_one_is_served() -> None:
    new, known = candidate(0.99, "new", **OF_ANN), candidate(0.97, "known", **BY_THREE)
    found = run(new, known)
    assert isinstance(found, Hit)
    assert (found.entry.id, found.shadow) == ("known", False)


@pytest.mark.parametrize(
    "more",
    [
        {"similarity": 0.9},  # in the draft band
        {"similarity": 0.99, "prompt": "How can I reset 3 passwords?"},  # vetoed, and a draft for that
        {"similarity": 0.99, "mode": "draft"},
    ],
)
def test_an_unconfirmed_answer_of_somebody_else_is_no_draft(more: dict[str, object]) -> None:
    mode = str(more.pop("mode", "auto"))
    near = candidate(**more, **OF_ANN)  # type: ignore[arg-type] # a table of changes
    assert isinstance(run(near, asker=ANN, mode=mode), Draft)
    assert isinstance(run(near, mode=mode), Miss)


def test_behind_a_new_answer_a_confirmed_one_may_be_the_draft() -> None:
    new, known = candidate(0.93, "new", **OF_ANN), candidate(0.9, "known", **BY_THREE)
    found = run(new, known)
    assert isinstance(found, Draft)
    assert found.entry.id == "known"


@pytest.mark.parametrize("otherwise", [UntilProven.DRAFT, UntilProven.SHADOW])
def test_what_the_evidence_stands_against_too_is_watched_and_never_drafted_from(
    otherwise: UntilProven,
) -> None:
    near = candidate(0.99, **OF_ANN)
    found = run(near, serving=Serving(cut=None, otherwise=otherwise))
    assert isinstance(found, Hit)
    assert (found.shadow, found.unconfirmed) == (True, True)


def test_no_wish_of_a_client_loosens_it() -> None:
    near = candidate(0.99, **OF_ANN)
    for wishes in (Directives(threshold=0.1), Directives(max_age=1e9), Directives(mode="semantic")):
        found = decide(policy(confirmation=TWO), wishes, ASKED, [near], NOW, None, Serving(), BOB)
        assert isinstance(found, Hit)
        assert found.shadow


# -- which answers confirm ------------------------------------------------------------------

AGREE = Comparison(True, 0.9, ("equal",))
SAID = "Open Settings, choose Security and press Reset password."


@pytest.mark.parametrize(
    ("cached", "fresh", "found", "counts"),
    [
        (SAID, SAID, AGREE, True),
        (SAID, SAID, Comparison(None, 0.5, ()), False),
        (SAID, SAID, Comparison(False, 0.9, ()), False),
        # Who sends readers to another place must have been told to by the model of somebody else too.
        (f"{SAID} Or ask https://evil.example/reset.", SAID, AGREE, False),
        (f"{SAID} Or ask evil-help.example.", SAID, AGREE, False),
        (f"{SAID} Or write to help@evil.example.", SAID, AGREE, False),
        (f"{SAID} Or call +1 (555) 010-9999.", SAID, AGREE, False),
        (SAID, f"{SAID} Or call +1 (555) 010-9999.", AGREE, True),
        (f"{SAID} See www.acme.example/help", f"{SAID} At WWW.acme.example/help.", AGREE, True),
        (f"{SAID} Call 555 010 9999.", f"{SAID} Call 555-010-9999.", AGREE, True),
        ("x" * 40_000, "x" * 40_000, AGREE, False),
    ],
)
def test_which_answers_confirm(cached: str, fresh: str, found: Comparison, counts: bool) -> None:
    assert confirms(ASKED, cached, fresh, found) is counts


def test_an_address_that_the_asker_named_is_nothing_new() -> None:
    assert confirms("What is at docs.acme.example?", "At docs.acme.example are guides.", "Guides.", AGREE)


def test_two_ways_of_saying_the_same_confirm_each_other() -> None:
    one = "You can return items within 30 days of delivery for a full refund."
    other = "Items may be returned within 30 days after delivery, and you get a full refund."
    question = "How long can I return items?"
    assert confirms(question, one, other, compare(question, one, other, 0.9))
    wrong = "You can return items within 90 days of delivery for a full refund."
    assert not confirms(question, wrong, one, compare(question, wrong, one, 0.97))


@pytest.mark.parametrize(
    "text", ["a" * 32_000, "a-" * 16_000, "1 " * 16_000, "a." * 16_000, "1" + " " * 32_000]
)
def test_no_text_takes_long_to_search_for_addresses(text: str) -> None:
    began = time.perf_counter()
    confirms(ASKED, text, text, AGREE)
    assert time.perf_counter() - began < 1.0
