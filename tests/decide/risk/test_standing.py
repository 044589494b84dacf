"""What a domain may do, from its counts: each state, each source, time, prior and hysteresis."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.decide.risk.bound import Noise
from semcache.decide.risk.evidence import Cell, Evidence, Source
from semcache.decide.risk.grid import BINS, BUCKET_SECONDS, EDGES
from semcache.decide.risk.prior import Prior, faded
from semcache.decide.risk.rules import RiskRules, UntilProven
from semcache.decide.risk.standing import Standing, State, audit_share, may_serve, stand
from tests.decide.risk.build import NOW, TODAY, daily, drawn, labels

CHAT = RiskRules()
CLINIC = RiskRules(budget=0.001)
SERVING = RiskRules(until_proven=UntilProven.SERVE, prior_strength=1000.0)
GOOD = Prior(tuple([0.0] * 20 + [500.0] * 10), tuple([0.0] * 20 + [0.5] * 10))
NOTHING = Evidence.of()


def told(evidence: Evidence, rules: RiskRules = CHAT, prior: Prior | None = None) -> Standing:
    """Stand now, for the first time."""
    return stand(evidence, rules, prior, NOW)


def test_without_evidence_nothing_is_served() -> None:
    standing = told(NOTHING)
    assert (standing.state, standing.cut, standing.bound, standing.audits) == (State.THIN, None, 1.0, 0.0)
    assert not may_serve(standing, 1.0)
    assert audit_share(standing, CHAT) == CHAT.audit_unserved


@pytest.mark.parametrize("rules", [CHAT, CLINIC])
def test_it_opens_when_enough_labels_are_right(rules: RiskRules) -> None:
    needed = told(NOTHING, rules).needed
    # No bound whatever opens on fewer than log(1 / 5 %) / budget; the mixture and the split cost less than as much again.
    assert 3.0 < needed * rules.budget < 6.0
    below = told(labels(int(needed) - 1), rules)
    assert (below.state, below.cut) == (State.THIN, None)
    standing = told(labels(int(needed) + 1), rules)
    assert standing.state is State.OPEN
    assert standing.bound <= rules.budget
    assert standing.estimate == 0.0


@pytest.mark.parametrize("bin_", [0, 8, 13, 15, 21, BINS - 1])
def test_the_cut_is_not_below_what_was_labelled(bin_: int) -> None:
    """Whatever sequence proves it; below the loosest start nothing begins."""
    standing = told(labels(20_000, bin=bin_))
    assert standing.cut == (EDGES[bin_] if EDGES[bin_] >= 0.9 else None)


def test_a_few_labels_lower_down_do_not_open_what_lies_between() -> None:
    standing = told(labels(2000, bin=21) + labels(4, bin=9))
    assert standing.cut == EDGES[21]
    assert told(labels(2000, bin=21) + labels(5, bin=9)).cut == EDGES[9]


def test_the_cut_is_where_the_risk_begins() -> None:
    risks = [0.2] * 18 + [0.0] * 12
    standing = told(drawn(np.random.default_rng(1), risks, 400))
    assert standing.state is State.OPEN
    assert standing.cut is not None
    # A bin below the good ones is still within the budget on average with them; its successors aren't.
    assert EDGES[17] <= standing.cut <= EDGES[18]
    assert may_serve(standing, standing.cut)
    assert may_serve(standing, 1.0)
    assert not may_serve(standing, standing.cut - 1e-9)


@pytest.mark.parametrize("score", [math.nan, math.inf, -1.0, 1.5])
def test_what_is_no_score_is_never_served(score: float) -> None:
    assert not may_serve(told(drawn(np.random.default_rng(1), [0.0] * BINS, 500)), score)


def test_closed_when_the_labels_say_so() -> None:
    standing = told(labels(2000, 60))
    assert (standing.state, standing.cut) == (State.CLOSED, None)
    assert standing.estimate == pytest.approx(0.03)
    assert standing.bound > 0.03


def test_undecided_is_thin() -> None:
    assert told(labels(2000, 16)).state is State.THIN


def test_alarmed_when_it_had_been_good() -> None:
    good, bad = [0.002] * 25, [0.08] * 2
    before = told(daily(good, 300))
    assert before.state is State.OPEN
    after = told(daily(good + bad, 300))
    assert (after.state, after.cut) == (State.ALARMED, None)
    # The mean over all 27 days is still within the budget: only the alarm closes.
    assert 0.002 * 25 + 0.08 * 2 < 0.01 * 27
    assert audit_share(after, CHAT) == CHAT.audit_unserved


def test_bad_from_the_beginning_is_closed_not_alarmed() -> None:
    assert told(daily([0.08] * 10, 300)).state is State.CLOSED


def test_it_reopens_when_the_bad_stretch_is_outweighed() -> None:
    days = [0.002] * 25 + [0.08] * 2
    assert told(daily(days + [0.0] * 3, 300)).state is State.ALARMED
    assert told(daily(days + [0.0] * 30, 300)).state is State.OPEN


def test_an_alarm_tightens_where_only_the_loose_part_went_bad() -> None:
    strict = daily([0.0] * 30, 200)
    loose = daily([0.005] * 27 + [0.25] * 3, 200, bin=10)
    standing = told(strict + loose)
    assert standing.cut is not None
    assert standing.cut > EDGES[10]
    assert standing.state is State.ALARMED
    assert told(strict + daily([0.005] * 30, 200, bin=10)).cut == EDGES[10]


@pytest.mark.parametrize("source", [Source.AUDIT, Source.SHADOW])
def test_samples_prove(source: Source) -> None:
    assert told(labels(600, source=source)).state is State.OPEN


@pytest.mark.parametrize("source", [Source.VERDICT, Source.FEEDBACK, Source.SEEN])
def test_what_was_picked_or_never_judged_proves_nothing(source: Source) -> None:
    assert told(labels(100_000, source=source)) == told(NOTHING)


def test_adverse_verdicts_weigh_in_full() -> None:
    proven = labels(600)
    assert told(proven + labels(5, 5, source=Source.VERDICT)).state is not State.OPEN
    one = told(proven + labels(1, 1, source=Source.VERDICT))
    assert one.bound > told(proven).bound
    assert one.wrong == 1.0


def test_complaints_are_scaled_to_the_sample() -> None:
    proven, complaints = labels(2000, 4), labels(40, 40, source=Source.FEEDBACK)
    # Forty complaints of whom nobody knows out of how many: they count as if they were among the labels.
    assert told(proven + complaints).state is not State.OPEN
    # Of forty thousand hits they are one in a thousand.
    of_many = told(proven + complaints + labels(40_000, source=Source.SEEN))
    assert of_many.state is State.OPEN
    assert of_many.wrong == pytest.approx(4 + 40 * 0.5 * 2000 / 40_000)


def test_evidence_ages() -> None:
    n, half = 1200, int(CHAT.half_life // BUCKET_SECONDS)
    assert told(labels(n, ago=half)).audits == pytest.approx(n / 2)
    assert told(labels(n, ago=half)).state is State.OPEN
    assert told(labels(n, ago=2 * half)).state is State.THIN
    assert told(labels(1_000_000, ago=90)) == told(NOTHING)
    assert told(labels(1_000_000, 1_000_000, ago=-5)).state is State.CLOSED


def test_hysteresis() -> None:
    """Between (1 - margin) x budget and the budget: not opened, but kept."""
    most = int(told(NOTHING).needed)
    between = next(
        evidence
        for evidence in (labels(n, bin=21) for n in range(most // 2, most))
        if 0.95 * 0.01 < told(evidence).bound < 0.98 * 0.01
    )
    first = told(between)
    assert first.cut is None
    was_open = replace(first, state=State.OPEN, cut=EDGES[21])
    kept = stand(between, CHAT, None, NOW, was_open)
    assert (kept.state, kept.cut) == (State.OPEN, EDGES[21])
    lost = stand(between + labels(2, 2), CHAT, None, NOW, was_open)
    assert lost.cut is None


def test_the_prior_serves_until_there_is_evidence() -> None:
    assert told(NOTHING, SERVING).cut is None
    assert told(NOTHING, replace(SERVING, until_proven=UntilProven.DRAFT), GOOD).cut is None
    standing = told(NOTHING, SERVING, GOOD)
    assert (standing.state, standing.by_prior) == (State.THIN, True)
    assert standing.cut is not None
    assert audit_share(standing, SERVING) == SERVING.audit_thin
    assert told(NOTHING, replace(SERVING, prior_strength=100.0), GOOD).cut is None


def test_a_wrong_prior_loses_quickly() -> None:
    stronger = replace(SERVING, prior_strength=1200.0)
    assert told(labels(100, 1), stronger, GOOD).by_prior
    assert told(labels(100, 3), stronger, GOOD).cut is None
    assert told(labels(20, 2), stronger, GOOD).cut is None
    # A thousand hits at one in a thousand are just enough by themselves; the first wrong label is one too many.
    assert told(labels(100), SERVING, GOOD).by_prior
    assert told(labels(100, 1), SERVING, GOOD).cut is None


def test_a_prior_fades() -> None:
    calm, much = np.zeros(BINS), np.full(BINS, 1000.0)
    fresh, _ = faded(GOOD, 1000.0, np.zeros(BINS), calm)
    later, _ = faded(GOOD, 1000.0, much, calm)
    against, _ = faded(GOOD, 1000.0, np.zeros(BINS), np.full(BINS, math.log(4.0)))
    assert fresh.max() == pytest.approx(1000.0)
    assert later.max() == pytest.approx(500.0)
    assert against.max() == pytest.approx(250.0)
    small, _ = faded(Prior((1.0,) * BINS, (0.0,) * BINS), 1000.0, np.zeros(BINS), calm)
    assert small.max() == pytest.approx(BINS)
    assert faded(GOOD, 0.0, np.zeros(BINS), calm)[0].max() == 0.0


def test_no_prior_against_an_alarm() -> None:
    evidence = daily([0.0] * 3 + [0.3], 80)
    assert told(evidence, SERVING, GOOD).cut is None
    # What is bad far below says nothing of where the prior serves.
    below = told(daily([0.2] * 4, 80, bin=2), SERVING, GOOD)
    assert below.by_prior
    assert below.cut is not None
    # The card has hits from bin 20 up: the looser starts do not reach below what it looked into.
    assert below.cut == EDGES[20]


@pytest.mark.parametrize("wrong", [(0.0,) * 3, (-1.0,) * BINS, (2.0,) * BINS, (math.nan,) * BINS])
def test_a_prior_that_is_none_is_refused(wrong: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="prior"):
        Prior((1.0,) * BINS, wrong)


def test_audits_get_fewer_and_never_none() -> None:
    rules = RiskRules(audit_thin=0.3, audit_proven=0.02)
    shares = [audit_share(told(labels(n), rules), rules) for n in (100, 500, 700, 800, 5000, 10**7)]
    assert shares[0] == 1.0
    assert shares == sorted(shares, reverse=True)
    assert 0.02 < shares[2] < 0.3
    assert shares[-1] == 0.02


def test_noise_that_is_stated_is_taken_out() -> None:
    noisy = replace(CHAT, noise=Noise(0.02, 0.1))
    evidence = labels(40_000, 880)
    assert told(evidence).state is State.CLOSED
    standing = told(evidence, noisy)
    assert standing.state is State.OPEN
    assert standing.estimate == pytest.approx((0.022 - 0.02) / 0.88)


def test_noise_that_the_labels_refute_is_not_taken_out() -> None:
    """Stated: a tenth of the right answers are called wrong. Seen: fewer than that in all, yet too many."""
    overstated = replace(CHAT, noise=Noise(0.1, 0.1))
    assert told(labels(5000, 150), overstated).cut is None
    assert told(labels(5000, 5), overstated).state is State.OPEN
    assert told(labels(5000, 5), overstated).bound == pytest.approx(
        told(labels(5000, 5)).bound / 0.9, rel=0.05
    )


@pytest.mark.parametrize(
    "bad",
    [
        {"budget": 0.0}, {"budget": 0.51}, {"confidence": 1.0}, {"audit_proven": 0.0}, {"audit_thin": 0.01},
        {"half_life": 0.0}, {"age_out": 10.0}, {"feedback_weight": 0.0}, {"margin": 1.0}, {"run_length": 0.0},
        {"prior_strength": -1.0}, {"budget": math.nan},
    ],
)  # fmt: skip
def test_rules_outside_their_ranges_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="out of range"):
        RiskRules(**bad)  # type: ignore[arg-type]  # every field of the table is a float


CELL = st.builds(
    lambda bin_, ago, source, n, wrong: Cell(bin_, TODAY - ago, source, n, min(n, wrong)),
    st.integers(15, BINS - 1),
    st.integers(0, 95),
    st.sampled_from(Source),
    st.integers(0, 3000),
    st.integers(0, 20),
)


@given(st.lists(CELL, max_size=12))
@settings(max_examples=80, deadline=None)
def test_whatever_the_counts_what_is_open_is_within_the_budget(cells: list[Cell]) -> None:
    evidence = Evidence.of(cells)
    standing = told(evidence)
    assert standing == told(Evidence.of(reversed(cells)))
    assert 0.0 <= standing.estimate <= 1.0
    assert 0.0 < standing.bound <= 1.0
    assert 0.0 < audit_share(standing, CHAT) <= 1.0
    if standing.cut is not None:
        assert standing.bound <= CHAT.budget * 1.01
        assert standing.estimate < standing.bound
        assert standing.cut in EDGES


@given(st.lists(CELL, max_size=8), st.integers(15, BINS - 1), st.integers(1, 30))
@settings(max_examples=80, deadline=None)
def test_wrong_answers_never_open(cells: list[Cell], bin_: int, wrong: int) -> None:
    """One more wrong answer in the strictest bin never loosens the cut, while no alarm throws evidence away."""
    evidence = Evidence.of(cells)
    calm = replace(CHAT, run_length=9e11)
    before = stand(evidence, calm, None, NOW)
    after = stand(evidence + labels(wrong, wrong, bin=BINS - 1), calm, None, NOW)
    if before.state is not State.ALARMED and after.state is not State.ALARMED:
        assert after.cut is None or (before.cut is not None and after.cut >= before.cut)


def test_it_is_quick() -> None:
    rng = np.random.default_rng(0)
    bins, days, sources = (a.ravel() for a in np.meshgrid(range(BINS), range(90), range(4), indexing="ij"))
    n = rng.poisson(20, bins.size)
    evidence = Evidence.of_columns(bins, TODAY - days, sources, n, rng.binomial(n, 0.003) * (sources < 2))
    told(evidence)
    best = math.inf
    for _ in range(10):
        began = time.process_time()
        for _ in range(20):
            told(evidence)
        best = min(best, (time.process_time() - began) / 20)
    # Measured at 0.8 ms; the ceiling leaves room for a machine that is busy.
    assert best < 0.002


def test_a_day_is_a_bucket() -> None:
    evidence = labels(500)
    assert stand(evidence, CHAT, None, NOW + 91 * BUCKET_SECONDS).audits == 0.0


@pytest.mark.parametrize("budget", [1e-6, 1e-4, 0.05, 0.5])
def test_every_budget_opens_and_closes(budget: float) -> None:
    rules = RiskRules(budget=budget)
    enough = int(told(NOTHING, rules).needed) + 1
    assert told(labels(enough), rules).state is State.OPEN
    assert told(labels(enough * 5, int(enough * 5 * min(0.9, budget * 1.5))), rules).cut is None
