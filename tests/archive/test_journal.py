"""The journal of erasures: a chain that a crash cuts and nobody changes unseen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semcache.archive import journal, receipts
from semcache.archive.errors import ArchiveError
from semcache.archive.journal import Erasure
from semcache.archive.receipts import Receipt

ONE = Erasure(5.0, "acme", "aa" * 12, ("bb" * 12,), "er_1")
TWO = replace(ONE, at=6.0, subject="cc" * 12, receipt="er_2")


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / journal.NAME
    assert journal.read(path) == []
    journal.append(path, ONE)
    journal.append(path, TWO)
    assert journal.read(path) == [ONE, TWO]
    assert path.stat().st_mode & 0o777 == 0o600


def test_half_a_line_is_none_and_the_next_takes_its_place(tmp_path: Path) -> None:
    path = tmp_path / journal.NAME
    journal.append(path, ONE)
    sound = path.read_bytes()
    journal.append(path, TWO)
    path.write_bytes(path.read_bytes()[:-5])
    assert journal.read(path) == [ONE]
    journal.append(path, TWO)
    assert journal.read(path) == [ONE, TWO]
    path.write_bytes(sound)
    assert journal.read(path) == [ONE]


@given(st.data())
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_change_goes_unseen(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / journal.NAME
    journal.write(path, [ONE, TWO])
    text = path.read_bytes()
    at = data.draw(st.integers(0, len(text) - 1))
    path.write_bytes(text[:at] + bytes((text[at] ^ data.draw(st.integers(1, 255)),)) + text[at + 1 :])
    try:
        found = journal.read(path)
    except ArchiveError:
        return
    assert found in ([ONE, TWO], [ONE]), "the end of the last line may be cut off, and blanks may differ"


def test_journals_are_merged_by_who_was_erased(tmp_path: Path) -> None:
    later = replace(ONE, at=9.0, authors=("dd" * 12,), receipt="er_3")
    both = replace(later, authors=("bb" * 12, "dd" * 12))
    assert journal.merged([[ONE, TWO], [later]]) == [TWO, both]
    assert journal.merged([[later], [ONE, TWO]]) == [TWO, both]
    assert journal.unknown([TWO, both], [ONE, TWO]) == [both]
    journal.write(tmp_path / "j", [TWO, both])
    assert journal.read(tmp_path / "j") == [TWO, both]


def test_receipts_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    one = Receipt("er_" + "a" * 24, "acme", "aa" * 12, "eve", "", 1.0, 2.0, {"entries": 3}, (), (), (), "d")
    told = receipts.write(tmp_path, one, {"number": 7, "digest": "x"})
    assert receipts.read(tmp_path, one.id) == told
    assert told["digest"] == one.digest
    path = tmp_path / receipts.FOLDER / f"{one.id}.json"
    path.write_text(path.read_text().replace('"entries": 3', '"entries": 4'))
    with pytest.raises(ArchiveError, match="changed"):
        receipts.read(tmp_path, one.id)
    for odd in ("er_", "../x", "er_" + "b" * 24):
        with pytest.raises(ArchiveError):
            receipts.read(tmp_path, odd)
