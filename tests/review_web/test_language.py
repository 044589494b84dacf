from __future__ import annotations

import re
from pathlib import Path

import pytest

import semcache.review.web
from semcache.cost_port import AlarmKind, Cause
from semcache.cost_rules import LABELS, OnHard
from semcache.decide.reasons import Veto
from semcache.records import SideKind
from semcache.review.web.cost_texts_en import COSTS_ENGLISH
from semcache.review.web.cost_texts_zh import COSTS_CHINESE
from semcache.review.web.costs_view import GROUPINGS
from semcache.review.web.language import Words, chosen
from semcache.review.web.texts_en import ENGLISH as REVIEW_ENGLISH
from semcache.review.web.texts_zh import CHINESE as REVIEW_CHINESE

ENGLISH, CHINESE = REVIEW_ENGLISH | COSTS_ENGLISH, REVIEW_CHINESE | COSTS_CHINESE


def test_no_key_stands_in_two_files() -> None:
    assert len(ENGLISH) == len(REVIEW_ENGLISH) + len(COSTS_ENGLISH)


def test_both_dictionaries_hold_the_same_keys() -> None:
    assert ENGLISH.keys() == CHINESE.keys()


@pytest.mark.parametrize("key", ENGLISH)
def test_both_texts_take_the_same_values(key: str) -> None:
    assert set(re.findall(r"{(\w+)}", ENGLISH[key])) == set(re.findall(r"{(\w+)}", CHINESE[key]))


CLOSED = {
    **{f"cause.{cause.value}": cause for cause in Cause},
    **{f"fix.{cause.value}": cause for cause in Cause},
    **{f"alarm.{kind.value}": kind for kind in AlarmKind},
    **{f"alarm.{kind.value}.text": kind for kind in AlarmKind},
    **{f"outcome.{kind.value}": kind for kind in SideKind},
    **{f"onhard.{what.value}": what for what in OnHard},
    **{f"costs.by.{by.value}": by for by in GROUPINGS},
    **{f"costs.by.{label}": label for label in LABELS},
}


def test_every_closed_word_of_costs_has_a_name() -> None:
    assert CLOSED.keys() <= ENGLISH.keys()


@pytest.mark.parametrize("veto", Veto)
def test_every_rule_of_the_gate_has_a_name(veto: Veto) -> None:
    assert f"veto.{veto.value}" in ENGLISH


@pytest.mark.parametrize(
    ("cookie", "accepted", "language"),
    [
        ("", "", "en"),
        ("", "de-DE,de", "en"),
        ("", "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("", "en;q=0.5, zh;q=0.4", "en"),
        ("", "fr, zh;q=0.1", "zh"),
        ("", "zh;q=x,en;q=0.1", "en"),
        ("zh", "en", "zh"),
        ("xx", "zh", "zh"),
        ("", "zh-TW;q=0.9," * 100_000, "zh"),
    ],
)
def test_language_is_chosen(cookie: str, accepted: str, language: str) -> None:
    assert chosen(cookie, accepted) == language


def test_numbers_and_times() -> None:
    en, zh = Words("en", 1_000_000.0), Words("zh", 1_000_000.0)
    assert en.number(1234567.891, 1) == "1,234,567.9"
    assert en.number(None) == "–"
    assert en.time(0) == "1 Jan 1970, 00:00 UTC"
    assert zh.time(0) == "1970年1月1日 00:00 UTC"
    assert en.iso(float("inf")) == "9999-12-31T23:59:59Z"
    assert en.iso(float("nan")) == "1970-01-01T00:00:00Z"
    assert en.ago(1_000_000 - 7200) == "2 h ago"
    assert zh.ago(1_000_000 - 120) == "2 分钟前"
    assert en.ago(2_000_000) == "just now"
    assert en.span(90) == "1.5 min"
    assert en.money(-1500) == "−$0.001500"
    assert en.money(12_340_000) == "$12.34"
    assert en.money(None) == "–"
    assert en.size(1_234_000) == "1.2 MB"
    assert en.share(0.1234) == "12.3%"
    assert en.word("reason", "never-heard") == "never-heard"


DYNAMIC = (
    *(
        "nav.",
        "role.",
        "done.",
        "reason.",
        "veto.",
        "scope.",
        "mode.",
        "outcome.",
        "what.",
        "standing.",
        "source.",
    ),
    *(
        "finding.",
        "error.4",
        "error.5",
        "help.",
        "ago.",
        "span.",
        "status.",
        "numbers.drafts.",
        "numbers.judge.",
    ),
    *("search.domain", "search.model", "search.tag"),
    *("costs.by.", "costs.layer.", "costs.saving.", "costs.budget.", "costs.line."),
    *("cause.", "fix.", "alarm.", "window.", "onhard."),
)
"""Beginnings of keys that are put together from closed words."""


def test_every_text_is_used() -> None:
    web = Path(semcache.review.web.__file__).parent
    files = [path for path in (*web.glob("*.py"), *web.glob("templates/*")) if "texts_" not in path.name]
    source = "".join(path.read_text() for path in files)
    assert [key for key in ENGLISH if f'"{key}"' not in source and not key.startswith(DYNAMIC)] == []
