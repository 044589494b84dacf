"""What humans settled, as it bears on a request: flags that lapse, answers that are withheld."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from semcache.core import Directives, Draft, Entry, Hit, Miss, Review, ReviewStatus, UntilProven
from semcache.decide.confirming import Asker
from semcache.decide.decision import Candidate, Serving, decide
from semcache.decide.freshness import is_servable
from semcache.decide.reasons import Reason
from semcache.decide.vouching import changed_documents, vouched, withheld
from semcache.review_rules import AUTHOR, WHOLE
from tests.decide.build import ASKED, NOW, entry, policy

EDITION = "f00d"


def approved(**changes: Any) -> Entry:
    return entry(status=ReviewStatus.APPROVED, **changes)


def run(found: Entry, similarity: float = 0.93, **more: Any) -> Hit | Draft | Miss:
    directives = more.pop("directives", Directives())
    serving, asker = more.pop("serving", Serving()), more.pop("asker", Asker())
    return decide(
        policy(edition=EDITION, **more), directives, ASKED, [Candidate(found, similarity)], NOW, None, serving, asker
    )  # fmt: skip


@pytest.mark.parametrize(
    ("review", "holds"),
    [
        (Review(), True),
        (Review(until=NOW + 1), True),
        (Review(until=NOW), False),
        (Review(edition=EDITION), True),
        (Review(edition="another"), False),
    ],
)
def test_a_flag_holds_until_its_day_and_under_its_policy(review: Review, holds: bool) -> None:
    found = approved(review=review)
    assert vouched(policy(edition=EDITION), Directives(), found, NOW) is holds
    # At .93 only a vouched answer is served: the policy asks .95 of others and .92 of these.
    assert isinstance(run(found), Hit if holds else Draft)


@pytest.mark.parametrize(
    ("stored", "asked", "changed"),
    [
        (("handbook@v3",), ("handbook@v3",), set()),
        (("handbook@v3",), ("handbook@v4",), {"handbook"}),
        (("handbook@v3",), (), set()),
        ((), ("handbook@v3",), set()),
        (("handbook",), ("handbook@v3",), set()),
        (("a@1", "b@1"), ("a@1", "b@2", "c@9"), {"b"}),
        (("mail@host@1",), ("mail@host@2",), {"mail@host"}),
        (("@1", "a@"), ("@2", "a@2"), set()),
    ],
)
def test_a_flag_is_for_the_documents_it_was_given_for(
    stored: tuple[str, ...], asked: tuple[str, ...], changed: set[str]
) -> None:
    assert changed_documents(stored, asked) == changed
    found = approved(tags=stored)
    assert vouched(policy(), Directives(tags=asked), found, NOW) is not changed


def test_nobody_vouches_for_what_nobody_looked_at() -> None:
    for status in (ReviewStatus.UNREVIEWED, ReviewStatus.REJECTED):
        assert not vouched(policy(), Directives(), entry(status=status), NOW)


def test_a_barred_question_is_never_answered_by_it_but_others_are() -> None:
    found = approved(barred=frozenset(("bad",)))
    assert run(found, 0.99, asker=Asker(asked="bad")) == Miss("barred", (), 0.99)
    assert isinstance(run(found, 0.99, asker=Asker(asked="good")), Hit)
    assert is_servable(policy(), Directives(), found, NOW)


def test_an_answer_barred_as_a_whole_is_served_to_nobody() -> None:
    found = approved(barred=frozenset((WHOLE,)))
    assert run(found, 0.99, asker=Asker(asked="good")) == Miss("barred", (), 0.99)
    assert run(found, 0.99) == Miss("barred", (), 0.99)
    assert not is_servable(policy(), Directives(), found, NOW)


def test_a_barred_answer_is_not_revised_either() -> None:
    found = entry(barred=frozenset(("bad",)))
    assert isinstance(run(found, 0.9, asker=Asker(asked="bad")), Miss)
    assert isinstance(run(found, 0.9, asker=Asker(asked="good")), Draft)


def test_a_narrowed_answer_goes_to_its_author_alone() -> None:
    found = entry(author="ann", review=Review(only="ann"))
    assert isinstance(run(found, 0.99, asker=Asker(who="ann")), Hit)
    assert run(found, 0.99, asker=Asker(who="bob")) == Miss("narrowed", (), 0.99)
    assert is_servable(policy(), Directives(), found, NOW, "ann")
    assert not is_servable(policy(), Directives(), found, NOW, "bob")
    assert withheld(found, "", "") is not None


def test_answers_to_a_personal_question_go_to_their_authors_those_to_come_too() -> None:
    anns, bobs = (entry(author=who, barred=frozenset((AUTHOR,))) for who in ("ann", "bob"))
    assert [withheld(anns, "q", who) for who in ("ann", "bob", "")] == [
        None,
        Reason.NARROWED,
        Reason.NARROWED,
    ]
    assert [withheld(bobs, "q", who) for who in ("ann", "bob", "")] == [
        Reason.NARROWED,
        None,
        Reason.NARROWED,
    ]
    assert withheld(entry(barred=frozenset((AUTHOR,))), "q", "") is Reason.NARROWED


def test_a_raised_threshold_binds_this_entry_verified_or_not() -> None:
    for status in (ReviewStatus.UNREVIEWED, ReviewStatus.APPROVED):
        found = entry(status=status, review=Review(least=0.98))
        assert isinstance(run(found, 0.97), Draft)
        assert isinstance(run(found, 0.98), Hit)


def test_a_raised_threshold_cannot_lower_the_policys() -> None:
    assert isinstance(run(entry(review=Review(least=0.5)), 0.9), Draft)


@pytest.mark.parametrize("otherwise", list(UntilProven))
def test_what_a_human_vouches_for_needs_no_evidence(otherwise: UntilProven) -> None:
    thin = Serving(cut=None, otherwise=otherwise)
    assert isinstance(run(approved(), serving=thin), Hit)
    lapsed = approved(review=Review(edition="another"))
    held_back = run(lapsed, 0.99, serving=thin)
    assert not isinstance(held_back, Hit) or held_back.shadow


def test_evidence_against_a_domain_stands_over_its_flags() -> None:
    closed = Serving(cut=None, trusts_humans=False)
    assert isinstance(run(approved(), 0.99, serving=closed), Draft)


def test_who_asks_and_what_do_not_matter_where_nothing_is_withheld() -> None:
    found = replace(entry(), barred=frozenset(("x",)))
    assert run(found, 0.99) == run(found, 0.99, asker=Asker("y", "bob"))
