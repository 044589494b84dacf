"""docs/events.md says what the tests show."""

from __future__ import annotations

from tests.events.page import EVENTS, PAGE, page, shown_by


def test_the_page_is_what_the_marks_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "write it anew: python -m tests.events.page > docs/events.md"
    )


def test_every_event_is_shown() -> None:
    assert [number for number, tests in shown_by().items() if not tests] == []
    assert list(EVENTS) == list(range(1, 46))
