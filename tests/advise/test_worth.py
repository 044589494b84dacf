"""Money and waiting by domain: scaled to a day of all of the log, unknown prices kept out, nothing counted twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from semcache.advise.findings import Findings, Worth
from semcache.advise.worth import CORE_HOUR, worth_of
from semcache.core import TenantId
from semcache.policy.loader import load_default
from semcache.records import Usage
from tests.advise.found import DAY, domain, exact, findings, semantic

POLICIES = load_default()
TENANT = TenantId("default")


def listed(model: str, usage: Usage) -> int | None:
    """2 micro-USD a token, cached ones half."""
    return 2 * usage.prompt_tokens - usage.cached_tokens if model == "gpt-4o" else None


def worth(found: Findings) -> Worth:
    return worth_of(found, POLICIES, TENANT, listed)


def test_a_day_of_the_log() -> None:
    found = worth(findings(semantic(domain()), days=10.0))
    (chat,) = found.domains
    assert (chat.requests, chat.hits) == (1_000, 180)
    assert (chat.by_exact, chat.by_meaning) == (1_200_000, 600_000)
    # 60 hits by meaning a day, half of them audited, each as dear as the call that it spared.
    assert chat.audits == 300_000
    assert chat.embedding == round(1_000 * 0.003 / 3_600 * CORE_HOUR)
    assert chat.net == 1_500_000 - chat.embedding
    assert found.month == 30 * chat.net
    assert chat.seconds == 270.0
    assert found.core_seconds == pytest.approx(3.0)


def test_audits_stay_within_the_policys_money_and_calls() -> None:
    dear = domain(saved_cost=6_012_000_000, saved_by_exact=12_000_000)
    assert worth(findings(semantic(dear))).total.audits == 1_000_000
    busy = domain(requests=1_000_000, semantic=600_000, saved_cost=612_000_000)
    # 60,000 hits by meaning a day; 200 calls of 0.1 cents.
    assert worth(findings(semantic(busy))).total.audits == 200 * 1_000


def test_a_part_that_was_replayed_is_scaled_up_to_the_whole() -> None:
    whole, part = semantic(domain()), semantic(domain(), sampled=True, of=40_000)
    one, four = worth(findings(whole)).total, worth(findings(part)).total
    assert four.requests == 4 * one.requests
    assert four.by_exact == 4 * (one.by_exact or 0)
    assert four.embedding == pytest.approx(4 * one.embedding, abs=2)


def test_domains_add_up_and_those_without_prices_have_no_part_in_money() -> None:
    unpriced = domain("code", saved_cost=0, saved_by_exact=0, unpriced=1_800)
    found = worth(findings(semantic(domain(), unpriced, unpriced=1_800)))
    code = found.domains[1]
    assert (code.by_exact, code.by_meaning, code.audits, code.net) == (None, None, None, None)
    assert found.total.by_exact == found.domains[0].by_exact
    assert found.total.hits == 360
    assert found.unpriced == 0.5
    assert any("no price" in note for note in found.notes)


def test_nothing_priced_leaves_tokens() -> None:
    found = worth(findings(semantic(domain(saved_cost=0, saved_by_exact=0, unpriced=1_800), unpriced=1_800)))
    assert (found.total.net, found.month) == (None, None)
    assert (found.total.input, found.total.output) == (90_000, 14_400)


@pytest.mark.parametrize("days", [0.0, 0.02])
def test_without_times_that_span_an_hour_figures_are_those_of_the_whole_log(days: float) -> None:
    found = worth(findings(semantic(domain()), days=days))
    assert (found.days, found.month) == (0.0, None)
    assert found.total.requests == 10_000
    assert any("whole log" in note for note in found.notes)


def test_a_short_log_says_so() -> None:
    assert any("3.0 hours" in note for note in worth(findings(semantic(domain()), days=0.125)).notes)


def test_without_a_replay_exact_repeats_alone_count() -> None:
    found = worth(findings())
    (all_,) = found.domains
    assert (all_.domain, all_.hits, all_.by_exact, all_.by_meaning, all_.embedding) == (
        "",
        120,
        1_200_000,
        0,
        0,
    )
    unpriced = worth(findings(exact=exact(saved_cost=0, unpriced=1_200)))
    assert unpriced.total.net is None


def test_no_rows() -> None:
    found = worth(findings(rows=0))
    assert found.total.requests == found.total.hits == 0
    assert found.total.net == 0
    assert worth(findings(semantic(), rows=0)).total.net == 0


def test_the_providers_cache_counts_only_what_it_does_not_read_already() -> None:
    found = findings(semantic(domain()))
    # A quarter of 5 million tokens, at a discount of 1 micro-USD each, over ten days.
    assert worth(found).by_provider == 125_000
    total = replace(found.spending.total, cached=625_000)
    half = replace(found, spending=replace(found.spending, total=total))
    assert (worth(half).by_provider, worth(half).provider_already) == (62_500, 625_000)
    all_ = replace(found, spending=replace(found.spending, total=replace(total, cached=5_000_000)))
    assert worth(all_).by_provider == 0
    assert worth(replace(found, overlap=replace(found.overlap, provider=None))).by_provider is None
    assert worth_of(found, POLICIES, TENANT).by_provider is None
    assert (found.reading.last or 0) - (found.reading.first or 0) == DAY * 10
