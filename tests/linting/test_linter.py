"""The linter's bookkeeping: tenants, days, money, weights, labels, bounds, and conversations."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semcache.cost_port import DAY, Cause
from semcache.linting.linter import Linter, Price
from semcache.linting.prompt import prompt_of
from semcache.linting.rules import LintRules
from tests.linting.test_prompt import bodies
from tests.linting.traffic.words import Body, in_dialect, prose, question, said, tool

AT = 20_800.0 * DAY
RULES = prose(random.Random(7), 40)
Labels = tuple[tuple[str, str], ...]


def clocked(n: int) -> Body:
    return in_dialect("chat", f"Now {n // 60:02}:{n % 60:02}:00. {RULES}", [said("user", f"Question {n}?")])


def feed(
    linter: Linter,
    count: int,
    *,
    tenant: str = "acme",
    model: str = "m",
    at: float = AT,
    labels: Labels = (),
    price: Price | None = None,
    weight: int = 1,
    make: Callable[[int], Body] = clocked,
) -> None:
    for n in range(count):
        linter.feed(prompt_of(make(n)), at + n, tenant, model, labels, price, weight=weight)


def test_tenants_and_models_are_never_compared() -> None:
    linter = Linter()
    for n in range(40):
        linter.feed(prompt_of(clocked(n)), AT + n, f"t{n % 20}", "m")
        linter.feed(prompt_of(clocked(n)), AT + n, "acme", f"m{n % 20}")
    assert linter.findings() == ()
    feed(linter, 10, tenant="t0")
    (one,) = linter.findings()
    assert one.tenant == "t0"


def test_a_conversation_of_another_tenant_is_not_gone_on_with() -> None:
    linter, history = Linter(), []
    rng = random.Random(1)
    for n in range(20):
        history.append(said("user", prose(rng, 3)))
        linter.feed(prompt_of(clocked(n) | {"messages": list(history)}), AT + n, f"t{n % 2}", f"m{n % 2}")
        history.append(said("assistant", prose(rng, 5)))
    assert linter.findings() == ()


def test_days_stand_apart_and_can_be_forgotten() -> None:
    linter = Linter()
    feed(linter, 10)
    feed(linter, 20, at=AT + DAY)
    by_day = {one.day: one for one in linter.findings()}
    assert {day: (one.prompts, one.seen) for day, one in by_day.items()} == {
        20_800: (10, 9),
        20_801: (20, 10),
    }
    linter.forget(20_801)
    assert [one.day for one in linter.findings()] == [20_801]


def test_money_is_that_of_the_price_and_none_where_any_is_unknown() -> None:
    linter = Linter()
    feed(linter, 10, price=lambda tokens: tokens * 3)
    (one,) = linter.findings()
    assert one.money == one.tokens * 3
    linter.feed(prompt_of(clocked(99)), AT, "acme", "m", (), lambda _: None)
    assert linter.findings()[0].money is None
    other = Linter()
    feed(other, 10)
    assert other.findings()[0].money is None


def test_a_prompt_may_stand_for_several() -> None:
    one, four = Linter(), Linter()
    feed(one, 10, price=lambda tokens: tokens)
    feed(four, 10, price=lambda tokens: tokens, weight=4)
    (plain,), (more,) = one.findings(), four.findings()
    sums = (more.prompts, more.seen, more.tokens, more.money)
    assert sums == (plain.prompts * 4, plain.seen * 4, plain.tokens * 4, (plain.money or 0) * 4)


def test_labels_are_those_that_all_prompts_have() -> None:
    linter = Linter()
    feed(linter, 5, labels=(("project", "a"), ("task", "x")))
    feed(linter, 9, labels=(("project", "a"), ("task", "y")))
    assert linter.findings()[0].labels == (("project", "a"),)


def test_groups_have_the_same_name_in_every_process_and_samples_hide_text() -> None:
    groups = set()
    for begin in (0, 5):
        linter = Linter()
        feed(linter, 12, make=lambda n, begin=begin: clocked(begin + n * 3))
        (one,) = linter.findings()
        groups.add(one.group)
        assert set(one.sample) <= set("x9 :.")
    assert len(groups) == 1


def test_repeated_prompts_and_two_in_turns_lose_nothing() -> None:
    linter = Linter()
    feed(linter, 60, make=lambda n: clocked(n % 2))
    assert linter.findings() == ()


def test_a_retry_and_a_shorter_history_are_no_breaks() -> None:
    linter, rng = Linter(), random.Random(3)
    history = [said(("user", "assistant")[n % 2], prose(rng, 4)) for n in range(21)]
    for n in (1, 3, 5, 5, 3, 7, 5, 9, 1, 11, 13, 13, 15, 9, 17, 19, 21):
        linter.feed(prompt_of(in_dialect("chat", RULES, history[:n])), AT + n, "acme", "m")
    assert linter.findings() == ()


def test_the_other_conversation_of_the_same_beginning_is_not_mistaken() -> None:
    """Two models answer the same questions; each conversation goes on with its own."""
    linter, rng = Linter(), random.Random(4)
    asked = [prose(rng, 3) for _ in range(8)]
    histories: dict[str, list[Body]] = {"a": [], "b": []}
    for n, text in enumerate(asked):
        for model, history in histories.items():
            history.append(said("user", text))
            linter.feed(prompt_of(in_dialect("chat", RULES, history)), AT + n, "acme", model)
            history.append(said("assistant", prose(rng, 4)))
    assert linter.findings() == ()


def test_tools_of_one_kind_lose_all_behind_them() -> None:
    rng = random.Random(5)
    tools = [tool(rng, name) for name in "abcdef"]

    def make(n: int) -> Body:
        order = random.Random(n).sample(tools, 6)
        return in_dialect("chat", RULES, [said("user", question(rng))], order)

    linter = Linter()
    feed(linter, 12, make=make)
    (one,) = linter.findings()
    assert (one.cause, one.where) == (Cause.TOOLS_REORDERED, "tools")
    assert one.tokens / one.seen > len(RULES) / 4


def test_memory_is_bounded() -> None:
    rules = LintRules(families=20, characters=50_000, talks=15, turns=60, archive=10)
    linter, rng = Linter(rules), random.Random(6)
    for n in range(400):
        history = [said("user", prose(rng, 8)) for _ in range(1 + n % 5)]
        linter.feed(prompt_of(in_dialect("chat", prose(rng, 10), history)), AT + n, f"t{n % 3}", "m")
    families, talks = linter._families, linter._talks
    assert len(families) <= 20
    assert (
        families._characters == sum(len(head.text) for one in families.all for head in one.samples) <= 50_000
    )
    assert len(families._index) <= 130 * 64
    assert len(talks) <= 15
    assert talks._turns == sum(len(talk.turns) for talk in talks._talks.values()) <= 60
    assert set(map(id, talks._by_key.values())) <= set(talks._talks)


def test_what_was_found_outlives_the_prompts() -> None:
    rules = LintRules(families=5)
    linter, rng = Linter(rules), random.Random(8)
    feed(linter, 10)
    before = linter.findings()
    assert len(before) == 1
    for n in range(50):
        linter.feed(prompt_of(in_dialect("chat", prose(rng, 10), [said("user", "?")])), AT + n, "acme", "m")
    assert linter.findings() == before
    linter.forget(20_801)
    assert linter.findings() == ()


def test_many_places_on_one_day_stay_few() -> None:
    linter = Linter(LintRules(sites=5))
    rng = random.Random(9)
    names = [f"{prose(rng, 1)} {n}" for n in range(60)]
    feed(
        linter,
        60,
        make=lambda n: in_dialect("chat", f"{names[n]}\n{RULES} {names[-n]}\n{RULES}", [said("user", "?")]),
    )
    tallies = [tally for family in linter._families.all for tally in family.days.values()]
    assert max(len(tally.breaks) for tally in tallies) <= 5


@given(st.lists(bodies, max_size=6))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_nothing_is_too_odd_to_be_fed(some: list[Body]) -> None:
    linter = Linter(LintRules(document=1, least_each=0, least_seen=1, least_tokens=0, least_share=0.0))
    for _ in range(2):
        for n, body in enumerate(some):
            linter.feed(prompt_of(body), AT + n, "acme", "m")
    for one in linter.findings():
        assert one.tokens >= 0
        assert one.seen <= one.prompts


@pytest.mark.parametrize("at", [float("nan"), float("inf"), -float("inf"), 1e300, -5.0])
def test_odd_times_are_days_too(at: float) -> None:
    linter = Linter()
    for n in range(10):
        linter.feed(prompt_of(clocked(n)), at, "acme", "m")
    assert len(linter.findings()) == 1
