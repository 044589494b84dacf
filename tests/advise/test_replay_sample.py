"""What is left out of a long log: never single rows by chance; and how sure the rest makes."""

from __future__ import annotations

import random

import pytest

from semcache.advise.sample import Part, Sample, Survey, Units, choose, units_for

DAY = 86_400.0


def surveyed(places: list[int], texts: list[int] | None = None, seed: int = 0) -> Survey:
    survey = Survey(seed)
    for number, place in enumerate(places):
        survey.see(place, texts[number] if texts else number, f"text {number}")
    return survey


def many(places: int = 400, each: int = 10) -> list[int]:
    return [random.Random(place).randrange(1 << 60) for place in range(places) for _ in range(each)]


def test_all_of_it_where_the_time_is_enough() -> None:
    survey = surveyed([1, 1, 2])
    sample = choose(survey, 3, DAY, None)
    assert (sample.kind, sample.share) == ("all", 1.0)
    assert sample.lonely == {2}


def test_places_are_taken_whole_or_not_at_all() -> None:
    rows = many()
    sample = choose(surveyed(rows), 1_000, DAY, 10 * DAY)
    assert sample.kind == "places"
    taken = [sample.part(number, place) for number, place in enumerate(rows)]
    by_place = {
        place: {taken[number] for number, other in enumerate(rows) if other == place}
        for place in set(rows[:200])
    }
    assert all(len(parts) == 1 for parts in by_place.values())
    assert 900 <= taken.count(Part.COUNT) <= 1_000
    assert sample.share == pytest.approx(taken.count(Part.COUNT) / len(rows))


def test_another_seed_takes_other_places() -> None:
    rows = many()
    one, other = (choose(surveyed(rows, seed=seed), 1_000, DAY, None).places for seed in (1, 2))
    assert len(one & other) < 0.5 * len(one)


def test_one_large_place_is_cut_in_time_after_a_warm_up_as_long_as_answers_live() -> None:
    sample = choose(surveyed([7] * 10_000), 4_000, DAY, 50 * DAY)
    assert sample.kind == "windows"
    parts = [sample.part(number, 7) for number in range(10_000)]
    assert parts.count(Part.WARM) + parts.count(Part.COUNT) <= 4_000
    for begin, counted, end in sample.windows:
        assert counted - begin >= 200
        assert 0 <= begin < counted < end <= 10_000
    assert sample.share == pytest.approx(parts.count(Part.COUNT) / 10_000)


@pytest.mark.parametrize("span", [None, DAY, 2 * DAY])
def test_a_log_no_longer_than_answers_live_is_asked_from_its_beginning(span: float | None) -> None:
    sample = choose(surveyed([7] * 10_000), 4_000, DAY, span)
    assert sample.kind == "beginning"
    assert [sample.part(number, 7) for number in (0, 3_999, 4_000)] == [Part.COUNT, Part.COUNT, Part.SKIP]
    assert "from an empty cache" in sample.told(0.4)


def test_different_questions_are_counted_each_in_its_place() -> None:
    survey = surveyed([1, 1, 2, 2], [5, 5, 5, 6])
    assert survey.distinct == 3
    survey.see(None, 0, None)
    assert (survey.rows, survey.distinct) == (5, 3)


def test_rows_that_there_was_no_time_to_look_at_leave_time_alone_to_choose_by() -> None:
    survey = surveyed(many())
    for _ in range(4_000):
        survey.count()
    assert survey.is_partial
    assert survey.rows == 8_000 == survey.distinct
    assert choose(survey, 1_000, DAY, 100 * DAY).kind == "windows"
    assert choose(survey, 8_000, DAY, None).lonely == frozenset()


def test_rows_outside_of_windows_need_not_be_read() -> None:
    windows = Sample("windows", 0.1, windows=((10, 15, 20),))
    assert [windows.may_count(number) for number in (9, 10, 19, 20)] == [False, True, True, False]
    assert Sample("places", 0.1).may_count(5)
    assert Sample("all", 1.0).may_count(5)


def test_nothing_at_all() -> None:
    survey = Survey()
    assert choose(survey, 0, None, None).kind == "all"
    assert Units().interval(0.0) == (0.0, 1.0)
    assert survey.distinct == 0


def test_intervals_hold_the_whole_logs_share_in_most_samples() -> None:
    """Places of very different habits: what belongs together is drawn together."""
    inside = 0
    for seed in range(60):
        draw = random.Random(seed)
        habits = {place: draw.betavariate(1, 3) for place in many(300, 1)}
        rows = [
            (place, draw.random() < rate)
            for place, rate in habits.items()
            for _ in range(draw.randrange(1, 30))
        ]
        survey = surveyed([place for place, _ in rows], seed=seed)
        sample = choose(survey, len(rows) // 4, DAY, None)
        units = units_for(sample, len(rows))
        for number, (place, hit) in enumerate(rows):
            if sample.part(number, place) is Part.COUNT:
                units.add(number, place, hit=hit)
        low, high = units.interval(sample.share)
        inside += low <= sum(hit for _, hit in rows) / len(rows) <= high
        assert high - low < 0.3
    assert inside >= 53


def test_a_cut_sample_says_so() -> None:
    assert Sample("all", 1.0).told(1.0) == "all requests"
    assert Sample("all", 1.0).told(0.25, is_cut=True).startswith("the first 25 %")
    assert "up to a point in time" in Sample("places", 0.3, frozenset({1})).told(0.2, is_cut=True)
