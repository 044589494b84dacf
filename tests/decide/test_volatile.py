"""Which questions go stale by themselves, and how that shortens a lifetime."""

from __future__ import annotations

import pytest

from semcache.core import Directives
from semcache.decide.admission import lifetime
from semcache.decide.volatile import is_volatile
from tests.decide.build import policy


@pytest.mark.parametrize(
    "prompt",
    [
        "What's the weather?", "news today", "Who is the current president?", "the latest Python release", "open tomorrow?",
        "profit last year", "EUR to USD exchange rate", "今天放假吗", "最新的汇率", "明天天气怎么样", "TONIGHT's game",
    ],
)  # fmt: skip
def test_questions_about_the_moment(prompt: str) -> None:
    assert is_volatile(prompt)


@pytest.mark.parametrize(
    "prompt",
    ["What is a kettle?", "How do I reset my password?", "什么是光合作用", "", "Explain ocean currents"],
)
def test_questions_that_keep(prompt: str) -> None:
    assert not is_volatile(prompt)


@pytest.mark.parametrize(
    ("prompt", "wish", "seconds"),
    [("news today", None, 300.0), ("What is a kettle?", None, 3600.0), (None, None, 3600.0), ("news today", 60.0, 60.0),
     ("news today", 900.0, 300.0)],
)  # fmt: skip
def test_they_live_shorter(prompt: str | None, wish: float | None, seconds: float) -> None:
    found = lifetime(policy(ttl_jitter=0.0, volatile_ttl=300.0), Directives(ttl=wish), 0.5, prompt=prompt)
    assert found == seconds


def test_a_lifetime_that_is_short_anyway_is_not_lengthened() -> None:
    assert (
        lifetime(policy(ttl=10.0, ttl_jitter=0.0, volatile_ttl=300.0), Directives(), 0.5, prompt="news today")
        == 10.0
    )
