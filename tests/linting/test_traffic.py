"""Made-up traffic: every kind of defect is named, and nothing else is."""

from __future__ import annotations

import pytest

from tests.linting.traffic.judging import ALL_BROKEN, ALL_SOUND, DIALECTS, findings_of, found_in, mixed

_SEED = 101


@pytest.mark.parametrize("name", ALL_BROKEN)
def test_the_defect_is_named_and_nothing_else(name: str) -> None:
    make, cause = ALL_BROKEN[name]
    for number, dialect in enumerate(DIALECTS[:2]):
        found = findings_of(make, _SEED + number, dialect)
        assert {one.cause for one in found} == {cause}
        assert all(one.tokens >= 256 and one.money == one.tokens * 2 and one.fix for one in found)


@pytest.mark.parametrize("name", ALL_SOUND)
def test_nothing_is_said_of_sound_traffic(name: str) -> None:
    for number, dialect in enumerate(DIALECTS[:2]):
        assert findings_of(ALL_SOUND[name], _SEED + number, dialect) == ()


@pytest.mark.parametrize("seed", range(3))
def test_several_applications_at_once(seed: int) -> None:
    sent, expected = mixed(seed, 4, 8)
    assert {one.cause for one in found_in(sent)} == set(expected.values())
