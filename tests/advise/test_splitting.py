"""Lines and tables cut into records, their places, and what is too long."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from semcache.advise import splitting
from semcache.advise.decoding import cells_of
from semcache.advise.splitting import Form, Record, records


def cut(data: bytes, form: Form) -> list[Record]:
    return list(records(io.BytesIO(data), form, 0))


def test_lines_have_their_numbers_and_places() -> None:
    data = b"one\r\n\n  \nfour\nfive"
    found = cut(data, Form.LINES)
    assert [(record.line, record.raw.strip()) for record in found] == [
        (1, b"one"),
        (4, b"four"),
        (5, b"five"),
    ]
    for record in found:
        assert data[record.offset : record.offset + record.length] == record.raw


def test_a_line_that_is_too_long_is_told_and_passed_over() -> None:
    data = b"a\n" + b"x" * (splitting.MAX_RECORD + 5) + b"\nb\n" + b"y" * (2 * splitting.MAX_RECORD)
    found = cut(data, Form.LINES)
    assert [(record.line, bool(record.flaw)) for record in found] == [
        (1, False),
        (2, True),
        (3, False),
        (4, True),
    ]
    assert all(not record.raw for record in found if record.flaw), "it is not held"


cells = st.text(alphabet="ab\",\n' é", max_size=12)


@given(st.lists(st.lists(cells, min_size=2, max_size=4), min_size=1, max_size=6))
def test_tables_are_cut_as_they_were_written(rows: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["x", *row] for row in rows])
    found = cut(text.getvalue().encode(), Form.CSV)
    assert [cells_of(record.raw, ",") for record in found] == [["x", *row] for row in rows]


def test_a_quote_that_is_never_closed_costs_no_more_than_its_bound() -> None:
    lines = b"prompt\nfine\n" + b'"never closed\n' + b"x,y\n" * 100
    found = cut(lines, Form.CSV)
    assert [record.flaw for record in found] == ["", "", splitting.CUT]
    assert found[2].line == 3
    long = b'prompt\n"never closed\n' + (b"x" * 999 + b"\n") * (splitting.MAX_ROW // 1000 + 1) + b"fine\n"
    found = cut(long, Form.CSV)
    assert found[1].flaw == splitting.UNCLOSED
    assert found[-1].raw == b"fine\n"
