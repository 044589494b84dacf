"""The knobs about drafts and review: limits, inheritance, units, and which of a domain's knobs a reviewer's flag is bound to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from semcache.core import CachePolicy, DraftPolicy, Mode, ReviewPolicy, TenantId
from semcache.policy.loader import load_default, load_directory
from semcache.review_rules import DraftWay
from tests.policy.samples import MINIMAL, problems

ROOT = Path(__file__).parents[2]
DAY = 86_400.0


def chat_of(knobs: str, folder: Path) -> CachePolicy:
    (folder / "acme.yaml").write_text(MINIMAL.replace("0.92}", f"0.92, {knobs}}}"))
    return load_directory(folder).by_tenant[TenantId("acme")].domains["chat"]


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ("drafts: {way: maybe}", "drafts.way: should be auto, lossless, prediction, revise or off"),
        ("drafts: {way: true}", "drafts.way: should be"),
        ("drafts: off", "drafts: should be a mapping"),
        ("drafts: {reviser: ''}", "drafts.reviser: should match"),
        ("drafts: {reviser: 'other/'}", "drafts.reviser: should match"),
        ("drafts: {min_score: 1.1}", "drafts.min_score: should be less than or equal to 1"),
        ("drafts: {max_failed: -0.1}", "drafts.max_failed: should be greater than or equal to 0"),
        ("drafts: {max_failed: .nan}", "drafts.max_failed: should be a valid number"),
        ("drafts: {min_trials: 0}", "drafts.min_trials: should be greater than or equal to 1"),
        ("drafts: {min_trials: 1.5}", "drafts.min_trials: should be"),
        ("drafts: {window: 59m}", "drafts.window: should be greater than or equal to 3600"),
        ("drafts: {max_bytes: 0}", "drafts.max_bytes: should be more than 0"),
        ("drafts: {prediction: true}", "drafts.prediction: unknown key"),
        ("review: {enabled: 1}", "review.enabled: should be true or false"),
        ("review: {verified_ttl: 0}", "review.verified_ttl: should be more than 0"),
        ("review: {near: 2}", "review.near: should be less than or equal to 1"),
        ("review: {sample: '1 %'}", "review.sample: should be"),
        ("review: {judge: '/model'}", "review.judge: should match"),
        ("review: {judge_usd_per_day: -1}", "review.judge_usd_per_day: should be greater than or equal to 0"),
        ("review: {judge_usd_per_day: .inf}", "review.judge_usd_per_day: should be a"),
        ("review: {judge_calls_per_day: 0.5}", "review.judge_calls_per_day: should be"),
        ("review: {promote_after: -1}", "review.promote_after: should be greater than or equal to 0"),
        ("commons: null", "commons: should be true or false"),
        ("commons: 'true'", "commons: should be true or false"),
    ],
)
def test_what_is_out_of_range_is_named(knobs: str, says: str) -> None:
    found = problems(MINIMAL.replace("0.92}", f"0.92, {knobs}}}"))
    assert any(f"domains.chat.{says}" in line for line in found), found


def test_unstated_knobs_are_the_built_in_ones(tmp_path: Path) -> None:
    policy = chat_of("ttl: 1h", tmp_path)
    assert (policy.drafts, policy.review, policy.commons) == (DraftPolicy(), ReviewPolicy(), False)


def test_every_knob_reaches_the_decision_in_its_own_unit(tmp_path: Path) -> None:
    policy = chat_of(
        "drafts: {way: revise, reviser: small/model-1, min_score: 0.6, max_failed: 0.2, min_trials: 9, window: 6h,"
        " max_bytes: 4KiB}, review: {enabled: false, verified_ttl: 2d, near: 0.1, sample: 0, judge: other/model-5,"
        " judge_usd_per_day: 0.25, judge_calls_per_day: 7, promote_after: 3}, commons: true",
        tmp_path,
    )
    assert policy.drafts == DraftPolicy(DraftWay.REVISE, "small/model-1", 0.6, 0.2, 9, 21_600.0, 4096)
    assert policy.review == ReviewPolicy(False, 2 * DAY, 0.1, 0.0, "other/model-5", 250_000, 7, 3)
    assert policy.commons


@pytest.mark.parametrize("written", ["off", '"off"', "false"])
def test_off_may_be_written_as_one_likes(written: str, tmp_path: Path) -> None:
    assert chat_of(f"drafts: {{way: {written}}}", tmp_path).drafts.way is DraftWay.OFF


def test_parts_are_inherited_knob_by_knob(tmp_path: Path) -> None:
    text = MINIMAL.replace("0.92}", "0.92, drafts: {min_score: 0.9}, review: {near: 0.5}}")
    more = "defaults: {drafts: {way: off, min_score: 0.1}, review: {near: 0.1, sample: 0.2}}\n"
    (tmp_path / "acme.yaml").write_text(text + more)
    policy = load_directory(tmp_path).by_tenant[TenantId("acme")].domains["chat"]
    assert (policy.drafts.way, policy.drafts.min_score) == (DraftWay.OFF, 0.9)
    assert (policy.review.near, policy.review.sample) == (0.5, 0.2)


def test_what_belongs_to_one_user_is_never_for_everybody(tmp_path: Path) -> None:
    assert not chat_of("commons: true, scope: user", tmp_path).commons


COUNTED = [
    "verified_threshold: 0.91", "draft_threshold: 0.8", "scope: user", "commons: true", "tools: 'off'",
    "alone: {threshold: 0.7}", "conversations: equal", "max_user_turns: 3", "sampling: {max_temperature: 0.9}",
    "gate: {numbers: raise}", "gate: {raise_by: 0.4}", "verifier: {enabled: false}", "verifier: {min_score: 0.5}",
    "encoder_thresholds: {own: {threshold: 0.9}}",
]  # fmt: skip
NOT_COUNTED = [
    "ttl: 1h", "ttl_jitter: 0.2", "volatile_ttl: 60", "max_age: 1h", "neighbours: 3", "usage_on_hit: original",
    "audit: {judge: other, max_usd_per_day: 3}", "risk: {budget: 0.02}", "store: {max_entry_bytes: 9}",
    "review: {sample: 0.5, verified_ttl: 1d, promote_after: 2}", "drafts: {way: off}",
]  # fmt: skip


@pytest.mark.parametrize("knobs", COUNTED)
def test_another_rule_about_what_fits_whom_is_another_edition(knobs: str, tmp_path: Path) -> None:
    assert chat_of(knobs, tmp_path).edition != chat_of("ttl: 24h", tmp_path).edition


@pytest.mark.parametrize("knobs", NOT_COUNTED)
def test_lives_limits_and_looking_leave_the_edition_as_it_is(knobs: str, tmp_path: Path) -> None:
    assert chat_of(knobs, tmp_path).edition == chat_of("ttl: 24h", tmp_path).edition


def test_saying_what_holds_anyway_is_no_new_edition(tmp_path: Path) -> None:
    plain = chat_of("ttl: 24h", tmp_path).edition
    assert chat_of("commons: false, gate: {numbers: veto}, tools: exact", tmp_path).edition == plain
    assert len(plain) == 16
    assert set(plain) <= set("0123456789abcdef")


def test_the_order_in_which_encoders_are_named_says_nothing(tmp_path: Path) -> None:
    one, two = "one: {threshold: 0.9}", "two: {threshold: 0.8}"
    editions = [
        chat_of(f"encoder_thresholds: {{{a}, {b}}}", tmp_path).edition for a, b in ((one, two), (two, one))
    ]
    assert editions[0] == editions[1]


def test_an_edition_is_the_same_in_another_process() -> None:
    """Sets and hashes of texts differ between processes; flags in the store must not."""
    own = {name: p.edition for name, p in load_default().by_tenant[TenantId("default")].domains.items()}
    code = (
        "from semcache.policy.loader import load_default\n"
        "print({n: p.edition for n, p in load_default().by_tenant['default'].domains.items()})"
    )
    run = [sys.executable, "-c", code]
    told = subprocess.run(
        run, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "1"}, cwd=ROOT
    )
    assert told.stdout.strip() == str(own)


def test_strict_domains_take_drafts_that_change_nothing_and_no_judge_s_word() -> None:
    tenants = load_directory(ROOT / "policies").by_tenant
    shipped, hospital = tenants[TenantId("default")].domains, tenants[TenantId("hospital")].domains
    strict = [
        shipped["medical"],
        shipped["legal"],
        hospital["medical"],
        hospital["dosage"],
        hospital["patient"],
    ]
    for policy in strict:
        assert policy.mode is Mode.SEMANTIC
        assert policy.drafts.way in (DraftWay.LOSSLESS, DraftWay.OFF), policy.domain
        assert policy.review.promote_after == 0
    assert shipped["chat"].drafts.way is DraftWay.AUTO
    assert tenants[TenantId("support-desk")].domains["faq"].drafts.way is DraftWay.AUTO
