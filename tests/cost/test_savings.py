"""What requests cost and what reuse saved: every kind of record, and laws that hold for all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import Outcome, RequestRecord, Usage
from semcache.cost.savings import costed, is_reuse, side_costed, side_sums_of, sums_of
from semcache.cost.symptoms import REPETITIVE
from semcache.cost_port import CostKey, CostSums
from semcache.cost_rules import CostPolicy, HitCharge
from semcache.records import SideKind, SideRecord
from semcache.review_rules import DraftRecord

DAY = 20_000
AT = DAY * 86_400 + 5.0
POLICY = CostPolicy()


@dataclass
class Book:
    """A price of one micro-USD an input token, half of it cached, twice it written; three an output token.

    Models that begin with `?` have none, `small` costs a tenth.
    """

    version: str = "test 1"
    per_embedded: int | None = 1
    scale: int = 10

    def cost(self, model: str, usage: Usage, *, backend: str = "", at: float | None = None) -> int | None:
        assert at == AT
        if model.startswith("?"):
            return None
        plain = usage.prompt_tokens - usage.cached_tokens - usage.written_tokens
        tenths = (
            plain * 10 + usage.cached_tokens * 5 + usage.written_tokens * 20 + usage.completion_tokens * 30
        )
        return tenths // 10 if model != "small" else tenths // 100

    def embedding(self, tokens: int) -> int | None:
        return None if self.per_embedded is None else tokens * self.per_embedded


BOOK = Book()
MISS = RequestRecord(
    request_id="r1",
    at=AT,
    tenant="acme",
    domain="chat",
    route="chat",
    model="gpt",
    stream=False,
    outcome=Outcome.MISS,
    reason="no-neighbour",
    status=200,
    duration=1.5,
    overhead=0.01,
    usage=Usage(1000, 100, 600, 100, 0, 40),
    key_name="team",
    labels=(("project", "a"), ("task", "t"), ("colour", "red")),
    backend="api",
)
HIT = replace(
    MISS,
    outcome=Outcome.SEMANTIC,
    reason="hit",
    usage=None,
    saved=Usage(1000, 100, 600),
    duration=0.01,
    waited=2.0,
)


def test_a_call_costs_what_was_billed_and_its_prompt_cache_saved() -> None:
    money = costed(MISS, BOOK, POLICY)
    assert money.cost == 300 + 300 + 200 + 300
    assert money.by_provider == 1300 - 1100
    assert (money.by_response, money.by_local, money.charged, money.is_priced) == (0, 0, 1100, True)
    assert money.without_caches == 1000 + 300
    key, sums = sums_of(MISS, money)
    assert key == CostKey("acme", DAY, "gpt", "api", "miss", "team", project="a", task="t")
    assert sums == CostSums(
        requests=1,
        input=1000,
        cached=600,
        written=100,
        output=100,
        reasoning=40,
        cost=1100,
        charged=1100,
        by_provider=200,
        milliseconds=1500,
    )


def test_a_model_that_needs_no_loading_costs_nothing() -> None:
    load = replace(MISS, outcome=Outcome.BYPASS, reason="load", usage=None, backend="")
    assert (costed(load, BOOK, POLICY).cost, costed(load, BOOK, POLICY).is_priced) == (0, True)
    assert costed(replace(load, backend="api"), BOOK, POLICY).cost is None


def test_writing_to_a_prompt_cache_costs_before_it_saves() -> None:
    money = costed(replace(MISS, usage=Usage(1000, 0, 0, 1000)), BOOK, POLICY)
    assert (money.cost, money.by_provider, money.without_caches) == (2000, -1000, 1000)


def test_the_engine_s_prefixes_are_a_saving_of_their_own() -> None:
    money = costed(replace(MISS, is_local=True), BOOK, POLICY)
    assert (money.by_local, money.by_provider) == (200, 0)
    assert sums_of(replace(MISS, is_local=True), money)[0].is_local


def test_an_engine_without_a_price_saves_tokens_and_no_money() -> None:
    record = replace(MISS, model="?engine", is_local=True)
    money = costed(record, BOOK, POLICY)
    assert (money.cost, money.by_local, money.charged, money.is_priced) == (None, None, None, False)
    _, sums = sums_of(record, money)
    assert (sums.cached, sums.cost, sums.by_local, sums.unpriced) == (600, 0, 0, 1)


def test_a_hit_is_free_and_saves_what_the_call_was_billed() -> None:
    money = costed(HIT, BOOK, POLICY)
    assert (money.cost, money.by_response, money.by_provider, money.charged) == (0, 1000, 0, 0)
    assert money.without_caches == 1000, "without the discount, which was the provider's and was counted then"
    _, sums = sums_of(HIT, money)
    assert (sums.input, sums.output, sums.saved_input, sums.saved_output) == (0, 0, 1000, 100)
    assert (sums.milliseconds, sums.saved_milliseconds) == (10, 1990)


def test_only_a_reused_answer_saves_tokens() -> None:
    record = replace(MISS, saved=Usage(7, 7))
    money = costed(record, BOOK, POLICY)
    _, sums = sums_of(record, money)
    assert (money.by_response, sums.saved_input, sums.saved_output) == (0, 0, 0)


@pytest.mark.parametrize("outcome", [Outcome.EXACT, Outcome.SEMANTIC])
def test_both_tiers_are_hits(outcome: Outcome) -> None:
    assert costed(replace(HIT, outcome=outcome), BOOK, POLICY).by_response == 1000


def test_a_shared_call_is_paid_once() -> None:
    record = replace(MISS, usage=None, saved=MISS.usage, collapsed=True)
    money = costed(record, BOOK, POLICY)
    assert (money.cost, money.by_response, money.charged) == (0, 1100, 0)
    assert sums_of(record, money)[1].saved_input == 1000


def test_a_hit_on_an_answer_nobody_counted_saves_nobody_knows_what() -> None:
    money = costed(replace(HIT, saved=None), BOOK, POLICY)
    assert (money.cost, money.by_response, money.without_caches, money.is_priced) == (0, None, None, False)


# -- cases of the field -------------------------------------------------------------------


def test_fc_059_spend_is_counted_once_and_hits_save_each() -> None:
    """A first call at 0.0042, an exact hit, a paraphrase: the stored price is nobody's spend."""
    first = replace(MISS, usage=Usage(3600, 200))
    again = replace(HIT, outcome=Outcome.EXACT, saved=first.usage)
    total = CostSums()
    for record in (first, again, replace(again, outcome=Outcome.SEMANTIC)):
        total.add(sums_of(record, costed(record, BOOK, POLICY))[1])
    assert (total.cost, total.by_response, total.without_caches) == (4200, 2 * 4200, 3 * 4200)


def test_fc_060_costs_that_arise_on_a_hit_stand() -> None:
    """A paid embedding, 0.00001, stands beside the hit's zero."""
    money = costed(replace(HIT, embedded=10), BOOK, POLICY)
    assert (money.cost, money.embedding, money.by_response) == (0, 10, 1000)
    assert money.net == 1000 - 10
    worse = costed(replace(HIT, embedded=5000), BOOK, POLICY)
    assert worse.net == 1000 - 5000, "negative, and shown as such"


def revised(**changes: object) -> RequestRecord:
    """300 tokens in and 80 out of a small model, for a call that would have been `saved` dearer."""
    draft = DraftRecord(
        "revise", "edited", "e1", saved=900, input=300, output=80, model="small", backend="mini"
    )
    return replace(
        MISS,
        outcome=Outcome.DRAFT,
        usage=Usage(300, 80),
        embedded=10,
        draft=replace(draft, **changes),  # type: ignore[arg-type]  # fields of the draft
    )


def test_fc_060_a_revision_costs_the_small_model_and_the_embedding() -> None:
    money = costed(revised(), BOOK, POLICY)
    paid = (300 * 10 + 80 * 30) // 100
    assert (money.cost, money.embedding, money.by_response, money.charged) == (paid, 10, 900, paid)
    assert money.without_caches == paid + 900
    assert money.net == 900 - 10


def test_another_backend_s_prompt_cache_is_not_the_request_s() -> None:
    record = replace(revised(), usage=Usage(300, 80, 200))
    money = costed(record, BOOK, POLICY)
    assert (money.by_provider, money.by_local) == (0, 0)
    assert costed(replace(record, is_local=True), BOOK, POLICY).by_local == 0
    own = replace(revised(backend="api", model=""), usage=Usage(300, 80, 200))
    assert costed(own, BOOK, POLICY).by_provider == 100


def test_a_revision_may_lose_money() -> None:
    money = costed(revised(saved=-40), BOOK, POLICY)
    assert (money.by_response, money.net) == (-40, -50)


def test_a_revision_that_failed_comes_on_top_of_the_plain_call() -> None:
    record = replace(revised(result="failed-wrong", saved=-54), outcome=Outcome.MISS, usage=Usage(500, 100))
    money = costed(record, BOOK, POLICY)
    lost = (300 * 10 + 80 * 30) // 100
    assert (money.cost, money.by_response, money.without_caches) == (800 + lost, -lost, 800)


def test_a_declined_draft_cost_nothing() -> None:
    record = replace(revised(result="declined-closed", saved=None), outcome=Outcome.MISS)
    money = costed(record, BOOK, POLICY)
    assert (money.cost, money.by_response) == (300 + 240, 0), "the plain call, at the request's own model"


def test_a_prediction_s_loss_and_the_prompt_cache_are_two_things() -> None:
    draft = DraftRecord("prediction", "predicted", "e1", saved=-30, input=1000, output=100)
    record = replace(MISS, outcome=Outcome.DRAFT, draft=draft)
    money = costed(record, BOOK, POLICY)
    assert (money.cost, money.by_response, money.by_provider) == (1100, -30, 200)


def test_a_lossless_draft_saves_time_only() -> None:
    record = replace(
        MISS, outcome=Outcome.DRAFT, is_local=True, draft=DraftRecord("lossless", "verified", "e1")
    )
    money = costed(record, BOOK, POLICY)
    assert (money.by_response, money.by_local, money.is_priced) == (0, 200, True)


@pytest.mark.parametrize(
    ("charge", "amount"), [(HitCharge.NONE, 0), (HitCharge.FIXED, 500), (HitCharge.FULL, 1000)]
)
def test_fc_066_what_hits_are_charged_is_the_policy_s_and_what_they_cost_is_not(
    charge: HitCharge, amount: int
) -> None:
    policy = CostPolicy(hit_charge=charge, hit_price=500)
    money = costed(HIT, BOOK, policy)
    assert (money.cost, money.charged) == (0, amount)
    _, sums = sums_of(HIT, money)
    assert (sums.cost, sums.charged) == (0, amount)
    assert costed(MISS, BOOK, policy).charged == 1100, "other calls are charged what they cost"


def test_a_full_charge_of_nobody_knows_what_is_unknown() -> None:
    policy = CostPolicy(hit_charge=HitCharge.FULL)
    assert costed(replace(HIT, model="?"), BOOK, policy).charged is None


# -- errors, estimates, other paths -------------------------------------------------------


def test_what_broke_off_costs_what_was_guessed() -> None:
    record = replace(MISS, outcome=Outcome.ERROR, status=499, usage=Usage(100, 7), estimated=True)
    money = costed(record, BOOK, POLICY)
    assert (money.cost, money.is_priced) == (121, True)
    _, sums = sums_of(record, money)
    assert (sums.errors, sums.estimated, sums.cost) == (1, 1, 121)


@pytest.mark.parametrize(
    ("changes", "cost", "is_priced"),
    [
        ({"outcome": Outcome.ERROR, "status": 429, "backend": ""}, 0, True),
        ({"outcome": Outcome.ERROR, "status": 502}, 0, True),
        ({"outcome": Outcome.ERROR, "status": 502, "estimated": True}, None, False),
        ({"outcome": Outcome.ERROR, "status": 499, "backend": ""}, 0, True),
        ({"outcome": Outcome.ERROR, "status": 499}, None, False),
        ({"outcome": Outcome.BYPASS, "status": 200, "route": "messages"}, None, False),
        ({"outcome": Outcome.BYPASS, "status": 200, "route": "other", "model": ""}, None, True),
        ({"outcome": Outcome.BYPASS, "status": 404, "route": "messages"}, 0, True),
    ],
)
def test_no_tokens_are_free_only_where_no_model_worked(
    changes: dict[str, object], cost: int | None, is_priced: bool
) -> None:
    record = replace(MISS, usage=None, **changes)  # type: ignore[arg-type]  # fields of the record
    money = costed(record, BOOK, POLICY)
    assert (money.cost, money.is_priced) == (cost, is_priced)
    assert sums_of(record, money)[1].unpriced == (not is_priced)


def test_an_embedding_without_a_price_hides_no_other_money() -> None:
    money = costed(replace(HIT, embedded=10), Book(per_embedded=None), POLICY)
    assert (money.embedding, money.by_response, money.is_priced) == (None, 1000, True)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, 1e300, -5.0])
def test_odd_times_are_days_and_milliseconds_all_the_same(odd: float) -> None:
    record = replace(MISS, duration=odd, waited=odd)
    _, sums = sums_of(record, costed(record, BOOK, POLICY))
    assert (sums.milliseconds, sums.saved_milliseconds) == (0, 0)
    key, _ = sums_of(replace(MISS, at=odd), costed(MISS, BOOK, POLICY))
    assert key.day == 0


def test_repetitive_answers_and_retries_are_counted() -> None:
    record = replace(MISS, repetition=REPETITIVE, retry=True)
    _, sums = sums_of(record, costed(record, BOOK, POLICY))
    assert (sums.repetitive, sums.retries) == (1, 1)
    calm = replace(MISS, repetition=REPETITIVE - 0.01)
    assert sums_of(calm, costed(calm, BOOK, POLICY))[1].repetitive == 0


# -- work beside requests -----------------------------------------------------------------

SIDE = SideRecord(
    SideKind.JUDGE, AT, "acme", "chat", "gpt", "api", Usage(100, 10, 50), labels=(("project", "a"),)
)


def test_work_beside_requests_is_no_request_and_saves_nothing() -> None:
    money = side_costed(SIDE, BOOK)
    assert money == 50 + 25 + 30
    key, sums = side_sums_of(SIDE, money)
    assert key == CostKey("acme", DAY, "gpt", "api", "judge", project="a")
    assert sums == CostSums(input=100, cached=50, output=10, side=105)
    assert sums.without_caches == 0


@pytest.mark.parametrize("side", [replace(SIDE, usage=None), replace(SIDE, model="?")])
def test_work_nobody_can_price_is_counted_as_such(side: SideRecord) -> None:
    money = side_costed(side, BOOK)
    assert money is None
    assert side_sums_of(side, money)[1].unpriced == 1


# -- laws ---------------------------------------------------------------------------------


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    prompt, completion = draw(st.integers(0, 10**6)), draw(st.integers(0, 10**5))
    cached = draw(st.integers(0, prompt))
    written = draw(st.integers(0, prompt - cached))
    return Usage(prompt, completion, cached, written, 0, draw(st.integers(0, completion)))


drafts = st.builds(
    DraftRecord,
    way=st.sampled_from(["revise", "prediction", "lossless"]),
    result=st.sampled_from(["edited", "kept", "predicted", "verified", "failed-wrong", "declined-closed"]),
    saved=st.none() | st.integers(-(10**6), 10**6),
    input=st.integers(0, 10**5),
    output=st.integers(0, 10**5),
    model=st.sampled_from(["", "small", "?"]),
)
outcomes = st.sampled_from(Outcome)


@st.composite
def records(draw: st.DrawFn) -> RequestRecord:
    """Records as the proxy writes them: a reused answer has no usage of its own."""
    record = replace(
        MISS,
        outcome=draw(outcomes),
        model=draw(st.sampled_from(["gpt", "gpt", "small", "?"])),
        status=draw(st.sampled_from([200, 429, 499, 502])),
        collapsed=draw(st.booleans()),
        route=draw(st.sampled_from(["chat", "other"])),
        is_local=draw(st.booleans()),
        estimated=draw(st.booleans()),
        embedded=draw(st.integers(0, 1000)),
        retry=draw(st.booleans()),
        repetition=draw(st.none() | st.floats(0, 1)),
        waited=draw(st.none() | st.floats(0, 100)),
        duration=draw(st.floats(0, 100)),
    )
    if is_reuse(record):
        return replace(record, usage=None, saved=draw(st.none() | usages()))
    draft = draw(st.none() | drafts)
    return replace(record, usage=draw(st.none() | usages()), saved=None, draft=draft)


charges = st.builds(CostPolicy, hit_charge=st.sampled_from(HitCharge), hit_price=st.integers(0, 10**6))


@given(records(), charges)
def test_without_caches_is_what_was_paid_and_what_was_saved(
    record: RequestRecord, policy: CostPolicy
) -> None:
    money = costed(record, BOOK, policy)
    _, sums = sums_of(record, money)
    if money.without_caches is not None:
        assert sums.without_caches == money.without_caches
        parts = (money.cost, money.by_response, money.by_provider, money.by_local)
        assert money.without_caches == sum(part or 0 for part in parts)
    if money.is_priced and record.usage is not None and record.draft is None:
        plain = replace(record.usage, cached_tokens=0, written_tokens=0)
        assert money.without_caches == BOOK.cost(record.model, plain, at=AT), "the list price of every token"


@given(st.lists(st.tuples(records(), charges), max_size=12))
def test_sums_of_many_are_counts_and_no_token_is_in_two_savings(
    many: list[tuple[RequestRecord, CostPolicy]],
) -> None:
    total = CostSums()
    spent = saved = 0
    for record, policy in many:
        money = costed(record, BOOK, policy)
        _, sums = sums_of(record, money)
        if is_reuse(record):
            assert (sums.input, sums.cached, sums.by_provider, sums.by_local) == (0, 0, 0, 0)
        else:
            assert (sums.saved_input, sums.saved_output) == (0, 0)
        assert not (sums.by_provider and sums.by_local)
        spent += record.usage.total_tokens if record.usage else 0
        saved += record.saved.total_tokens if record.saved else 0
        assert all(type(getattr(sums, field.name)) is int for field in fields(CostSums))
        total.add(sums)
    assert (total.input + total.output, total.saved_input + total.saved_output) == (spent, saved)
    may_be_negative = {"by_response", "by_provider", "by_local", "saved_milliseconds"}
    for field in fields(CostSums):
        value = getattr(total, field.name)
        assert value >= 0 or field.name in may_be_negative
    assert total.requests == len(many)
    assert total.without_caches == total.cost + total.by_response + total.by_provider + total.by_local


@given(records())
def test_unknown_money_is_none_and_never_a_zero_of_a_call(record: RequestRecord) -> None:
    record = replace(record, model="?", draft=None)
    money = costed(record, BOOK, POLICY)
    if record.usage is not None:
        assert money.cost is None
        assert not money.is_priced
    if record.saved is not None:
        assert money.by_response is None
        assert not money.is_priced
