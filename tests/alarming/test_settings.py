"""Settings of alarms: what is left out keeps its default, and mistakes are named."""

from __future__ import annotations

import pytest

from semcache.alarming.rules import LIMITS, AlarmRules, Limit
from semcache.alarming.settings import AlarmSettings
from semcache.cost_port import AlarmKind
from semcache.errors import PolicyError
from semcache.settings import load_settings


def test_defaults_are_those_of_the_rules() -> None:
    assert AlarmSettings().rules() == AlarmRules()
    assert load_settings({}).alarms == AlarmSettings()
    assert AlarmSettings().enabled
    assert AlarmSettings().webhook is None


def test_one_level_is_set_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMCACHE_ALARMS__LEVELS__HIT_RATIO_LOW__RAISES", "0.02")
    monkeypatch.setenv("SEMCACHE_ALARMS__EVERY", "10")
    rules = load_settings({}).alarms.rules()
    assert rules.limits == {**LIMITS, AlarmKind.HIT_RATIO_LOW: Limit(0.02, 0.08, 3600, 600, is_low=True)}
    assert rules.every == 10


def test_one_alarm_is_switched_off() -> None:
    settings = load_settings(
        {"alarms": {"levels": {"retries": {"enabled": False}}, "budget_steps": [1, 0.9, 1]}}
    )
    rules = settings.alarms.rules()
    assert set(rules.limits) == set(LIMITS) - {AlarmKind.RETRIES}
    assert rules.steps == (0.9, 1.0)


@pytest.mark.parametrize(
    ("alarms", "words"),
    [
        ({"levels": {"hit_ratio_low": {"raises": 0.5}}}, "hit_ratio_low: clears must lie on the good side"),
        ({"levels": {"repetition": {"clears": 0.5}}}, "repetition: clears must lie on the good side"),
        ({"levels": {"budget": {}}}, "alarms.budget_steps"),
        ({"levels": {"repetition": {"raise": 1}}}, "did you mean raises?"),
        ({"levels": {"repetition": {"raises": float("nan")}}}, "alarms.levels.repetition.raises"),
        ({"everi": 1}, "did you mean every?"),
        ({"every": 0}, "alarms.every"),
        ({"budget_steps": [0]}, "alarms.budget_steps"),
        ({"webhook": "http://chat.example/x"}, "must be an https URL, or a reference"),
        ({"webhook": "ftp://chat.example/x"}, "must be an https URL, or a reference"),
    ],
)
def test_mistakes_are_named(alarms: dict[str, object], words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load_settings({"alarms": alarms})
    assert words in str(caught.value)
    assert "chat.example" not in str(caught.value)
