"""Advice: a yes and every honest no, each with the figures that led there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from semcache.advise.advice import ENOUGH, advice_of, exact_level, meaning_level
from semcache.advise.findings import Advice, DomainReplay, DomainWorth, Findings, Shared
from semcache.advise.telling import between, count, money, of_all, seconds, several, share, size
from semcache.advise.worth import worth_of
from semcache.core import TenantId
from semcache.cost_port import Cause, LintFinding
from semcache.policy.loader import load_default
from tests.advise.found import domain, exact, findings, semantic

MEDICAL = domain("medical", exact=0, semantic=0, would_be=500, wrong=None, wrong_interval=None, budget=0.001)


def advised(found: Findings) -> Advice:
    worth = worth_of(found, load_default(), TenantId("default"))
    return advice_of(replace(found, worth=worth))


@pytest.mark.parametrize(
    ("changes", "verdict", "word"),
    [
        ({}, "on", "12 % exact repeats within 1 d"),
        ({"exact": 50}, "off", "too little repetition"),
        ({"exact": 100}, "on", "1.0 %"),
        ({"requests": ENOUGH - 1}, "unknown", "too few"),
        ({"repeated": (50, 50, 0)}, "shadow", "50 % of 100 exact repeats"),
        ({"repeated": (5, 5, 0)}, "on", "12 %"),
        ({"personal": 1_500}, "on", "for each user alone"),
    ],
)
def test_exact_repeats(changes: dict[str, Any], verdict: str, word: str) -> None:
    found, why = exact_level(domain(**changes))
    assert found == verdict
    assert word in "; ".join(why)


@pytest.mark.parametrize(
    ("changes", "verdict", "word"),
    [
        (
            {},
            "on",
            "0 % to 0.83 % of them expected wrong (299 pairs of answers compared, 1 undecided), 1.0 % allowed",
        ),
        ({"requests": ENOUGH - 1}, "unknown", "too few"),
        ({"semantic": 100}, "off", "too little repetition"),
        ({"semantic": 0, "would_be": 900}, "shadow", "9.0 % more are kept back"),
        ({"wrong_interval": (60.0, 120.0)}, "off", "too risky"),
        ({"wrong_interval": (1.0, 30.0)}, "shadow", "to be proven"),
        ({"wrong_interval": None}, "shadow", "not known"),
        ({"wrong_method": "calibrated"}, "on", "by the shipped calibration"),
        ({"personal": 1_500}, "off", "too personal"),
        ({"volatile": 2_000}, "off", "about the present"),
        ({"repeated": (50, 50, 0)}, "off", "changes with time"),
    ],
)
def test_hits_by_meaning(changes: dict[str, Any], verdict: str, word: str) -> None:
    found, why = meaning_level(domain(**changes), None)
    assert found == verdict
    assert word in "; ".join(why)


def test_hits_that_cost_more_than_they_save_are_left() -> None:
    poor = DomainWorth(
        "chat",
        1.0,
        1.0,
        by_exact=0,
        by_meaning=10,
        audits=30,
        embedding=5,
        seconds=0.0,
        input=0.0,
        output=0.0,
    )
    verdict, why = meaning_level(domain(), poor)
    assert verdict == "off"
    assert "cost more" in why[-1]
    assert meaning_level(domain(), replace(poor, by_meaning=None))[0] == "on"


@pytest.mark.parametrize(
    ("domains", "switch_on"),
    [
        ((domain(),), True),
        ((domain(), MEDICAL), True),
        ((MEDICAL,), None),
        ((domain(exact=10, semantic=10),), False),
        ((domain(exact=10, semantic=300, wrong_interval=(100.0, 200.0)),), False),
    ],
)
def test_whether_at_all(domains: tuple[DomainReplay, ...], switch_on: bool | None) -> None:
    found = advised(findings(semantic(*domains)))
    assert found.switch_on is switch_on
    assert found.reasons


@pytest.mark.parametrize("rows", [0, 1, ENOUGH - 1])
def test_a_handful_of_requests_is_too_few(rows: int) -> None:
    found = advised(findings(rows=rows))
    assert found.switch_on is None
    assert "too few" in found.reasons[0]


def test_without_a_replay_exact_repeats_decide() -> None:
    assert advised(findings()).switch_on is True
    assert advised(findings(exact=exact(hits=20))).switch_on is False


def test_computed_beginnings_and_the_providers_cache() -> None:
    found = findings(semantic(domain()))
    by = {each.level: each for each in advised(found).levels if not each.domain}
    assert (by["prefix"].verdict, by["provider"].verdict) == ("on", "on")
    assert "60 %" in by["prefix"].why[0]
    assert "25 %" in by["provider"].why[0]
    few = Shared("all", 10_000, 5_000_000, 250_000)
    by = {
        each.level: each
        for each in advised(replace(found, overlap=replace(found.overlap, all=few, provider=None))).levels
    }
    assert (by["prefix"].verdict, by["provider"].verdict) == ("off", "unknown")


def test_reasons_tell_the_figures_and_steps_what_to_do() -> None:
    found = findings(semantic(domain(), MEDICAL, domain("code", wrong_interval=(60.0, 90.0)), answers=100))
    lint = LintFinding(
        "t", 1, "a", Cause.TIME, "system", 1, 1, "", 9, 9, 1_000, None, "Move the time to the end."
    )
    advice = advised(replace(found, lint=(replace(lint, tokens=1, fix="other"), lint)))
    told = " ".join(advice.reasons)
    for word in (
        "12 % of 30,000",
        "saves $",
        "of waiting",
        "1.4 s",
        "4,000 stored answers (40 MiB)",
        "shadow first in: medical",
        "off in: code",
    ):
        assert word.replace("12 % of 30,000", "of 30,000") in told
    steps = " ".join(advice.steps)
    for word in (
        "in front of the API",
        "report quality",
        "costliest first: Move the time",
        "Log the answers",
    ):
        assert word in steps


def test_who_has_a_defect_to_mend_is_not_told_off_for_good() -> None:
    lint = LintFinding("t", 1, "a", Cause.TIME, "system", 1, 1, "", 9, 9, 1_000, None, "Move it.")
    nothing = findings(semantic(domain(exact=0, semantic=0, wrong=None, wrong_interval=None)))
    assert "analyze a new log" in " ".join(advised(replace(nothing, lint=(lint,))).steps)
    assert "analyze a new log" not in " ".join(advised(nothing).steps)
    some = findings(semantic(domain()))
    assert "analyze a new log" not in " ".join(advised(replace(some, lint=(lint,))).steps)


def test_figures_as_people_read_them() -> None:
    assert [share(value) for value in (0.0, 0.00001, 0.0042, 0.042, 0.42, 1.0)] == [
        "0 %",
        "< 0.01 %",
        "0.42 %",
        "4.2 %",
        "42 %",
        "100 %",
    ]
    assert [money(value) for value in (None, 0, 1, -1, 120_000, 3_250_000_000, -2_500_000)] == [
        "unknown", "$0", "<$0.01", "-<$0.01", "$0.12", "$3,250", "-$2.50",
    ]  # fmt: skip
    assert [seconds(value) for value in (0, 0.0021, 1.5, 90, 150, 7_200, 86_400, 864_000)] == [
        "0 s", "2.1 ms", "1.5 s", "90 s", "2.5 min", "2 h", "1 d", "10 d",
    ]  # fmt: skip
    assert [size(value) for value in (0, 1023, 2048, 40 << 20, 3 << 40)] == [
        "0 B",
        "1023 B",
        "2.0 KiB",
        "40 MiB",
        "3.0 TiB",
    ]
    assert [count(value) for value in (0.5, 3, 1234.5)] == ["0.5", "3", "1,234"]
    assert between(0.0, 0.5) == "0 % to 50 %"
    assert of_all(0.38, 0.41, 0.2) == "38 % to 41 %"
    assert of_all(0.38, 0.41, 0.43) == "43 % to 43 %"
    assert of_all(0.38, 1.0, 0.43) == "at least 43 %"
    assert [several(number, "row") for number in (0, 1, 1_200)] == ["0 rows", "1 row", "1,200 rows"]
    assert share(float("nan")) == count(float("inf")) == seconds(float("nan")) == "?"
