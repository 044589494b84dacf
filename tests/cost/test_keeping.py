"""Files of rows are packed, read back, and let go; whatever is killed, whenever, no row is lost or met twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from semcache.core import DraftRecord, Outcome, RequestRecord, Usage
from semcache.cost.keeping import Keeper, KeepRules
from semcache.cost.plain import dumped
from semcache.cost.prices import PriceBook
from semcache.cost.row_fields import NAMES, Row
from semcache.cost.row_making import row_of, side_row_of
from semcache.cost.row_reader import LONGEST, read_rows
from semcache.cost.rows import RowFiles
from semcache.cost.savings import costed
from semcache.cost.segments import files
from semcache.cost_rules import CostPolicy
from semcache.records import SideKind, SideRecord
from tests.cost.told import DAY, MISS, NOON, HandClock, Heard

Form = Literal["jsonl", "parquet"]
FORMS: list[Form] = ["jsonl", "parquet"]
SUFFIX = {"jsonl": ".jsonl.gz", "parquet": ".parquet"}
PRICES = PriceBook()


def line(record: RequestRecord = MISS) -> bytes:
    return dumped(row_of(record, costed(record, PRICES, CostPolicy())))


def write(folder: Path, lines: list[bytes], at: float = NOON, name: str = "w") -> Path:
    out = RowFiles(folder, name, 1 << 30, HandClock(at), Heard())
    out.write(lines)
    path = out.path
    assert path is not None
    out.close()
    return path


def keeper(
    folder: Path, form: Form = "parquet", heard: Heard | None = None, at: float = NOON, **rules: int
) -> Keeper:
    return Keeper(folder, KeepRules(form, **rules), HandClock(at), heard or Heard())


def records() -> list[RequestRecord]:
    hit = replace(
        MISS,
        at=NOON + 1,
        outcome=Outcome.EXACT,
        usage=None,
        saved=Usage(10, 5, 3, 2, 1, 4),
        similarity=0.97,
        score=1.0,
        entry_id="e",
        waited=2.0,
        model="nobody-knows-me",
    )
    odd = replace(
        MISS,
        at=NOON + 2,
        model="名 \ud800\x00",
        labels=(("task", "a\nb"), ("x\ud800", '"')),
        usage=Usage(1 << 70, 3),
        duration=float("nan"),
        faults=("store:late", "encoder:busy"),
        vetoes=("numbers",),
        status=499,
        draft=DraftRecord("revise", "failed-check", input=5, output=6),
        repetition=0.5,
        retry=True,
        estimated=True,
        is_local=True,
    )
    return [MISS, hit, odd]


@pytest.mark.parametrize("form", FORMS)
def test_packed_rows_say_what_they_said_before(tmp_path: Path, form: Form) -> None:
    side = SideRecord(
        SideKind.AUDIT, NOON + 3, "acme", "chat", "gpt-4o-mini", "openai", Usage(7, 8), "req_1", MISS.labels
    )
    path = write(tmp_path, [*map(line, records()), dumped(side_row_of(side, 12, "v"))])
    plain = list(read_rows(tmp_path))
    heard = Heard()
    keeper(tmp_path, form, heard).tidy()
    (packed,) = files(tmp_path)
    assert packed.form == SUFFIX[form]
    assert not path.exists()
    assert packed.path.stat().st_mode & 0o777 == 0o600
    assert list(read_rows(tmp_path)) == plain
    assert heard.segments_ == {"packed": 1}
    assert [tuple(row) for row in plain] == [NAMES] * 4
    assert [(row["kind"], row["cost"] is None) for row in plain] == [
        ("request", False),
        ("request", False),
        ("request", True),
        ("audit", False),
    ]
    assert (plain[1]["by_response"], plain[1]["saved_reasoning"], plain[2]["seconds"]) == (None, 4, None)
    assert plain[0]["labels"] == '{"team":"x"}'
    assert (plain[3]["project"], plain[3]["output"], plain[3]["id"]) == ("search", 8, "req_1")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("broken", "skipped"),
    [
        (b'{"kind":"request","at":17900', 1),
        (b"17", 1),
        (b'["no row"]\n', 1),
        (b"\xff\xfe\n\n", 2),
        (b"x" * (LONGEST + 10) + b"\n", 1),
        (b'{"at":"yesterday","status":"x","cost":1.5,"model":3,"extra":[1],"input":true}\n', 0),
        (b'{"at":1e400,"cost":1}\n', 1),
        (
            b'{"at":1790000000,"input":-5,"cost":18446744073709551615,"output":99999999999999999999999,"labels":{"a":1}}\n',
            0,
        ),
    ],
)
def test_lines_that_are_no_rows_cost_no_other(
    tmp_path: Path, form: Form, broken: bytes, skipped: int
) -> None:
    path = write(tmp_path, [line(), line()])
    with path.open("ab") as file:
        file.write(broken)
    told: list[int] = []
    before = list(read_rows(tmp_path, skipped=lambda _, count: told.append(count)))
    assert len(before) == (2 if b"yesterday" in broken or skipped else 3)
    assert sum(told) == skipped
    assert all(type(row["input"]) is int and type(row["cost"]) in (int, type(None)) for row in before)
    keeper(tmp_path, form).tidy()
    assert list(read_rows(tmp_path)) == before
    assert [file.form for file in files(tmp_path)] == [SUFFIX[form]]


def test_a_file_of_nothing_but_half_a_line_is_packed_too(tmp_path: Path) -> None:
    write(tmp_path, [b'{"at'])
    heard = Heard()
    keeper(tmp_path, "parquet", heard).tidy()
    assert heard.rows_ == {"skipped": 1}
    assert list(read_rows(tmp_path)) == []


@pytest.mark.parametrize("form", FORMS)
def test_what_is_being_written_is_left_alone(tmp_path: Path, form: Form) -> None:
    out = RowFiles(tmp_path, "live", 1 << 30, HandClock(), Heard())
    out.write([line()])
    assert out.path is not None
    keeper(tmp_path, form, days=1, bytes=1, at=NOON + 100 * DAY).tidy()
    assert out.path.exists()
    out.write([line()])
    assert len(list(read_rows(tmp_path))) == 2


def test_old_files_go_by_age(tmp_path: Path) -> None:
    heard = Heard()
    for day in range(6):
        write(tmp_path, [line()], NOON - day * DAY)
    keeper(tmp_path, heard=heard, days=2).tidy()
    assert [round((NOON - file.begins) / DAY) for file in files(tmp_path)] == [3, 2, 1, 0]
    assert heard.segments_ == {"deleted": 2, "packed": 4}


def test_the_oldest_go_where_there_is_too_much(tmp_path: Path) -> None:
    for day in range(6):
        write(tmp_path, [b"x" * 1000], NOON - day * DAY)
    # Already packed, so that only size speaks.
    for file in files(tmp_path):
        file.path.rename(file.path.with_suffix(".parquet"))
    keeper(tmp_path, bytes=2500).tidy()
    assert [round((NOON - file.begins) / DAY) for file in files(tmp_path)] == [1, 0]


def test_strangers_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x" * 100)
    write(tmp_path, [line()])
    keeper(tmp_path, bytes=1).tidy()
    assert (tmp_path / "notes.txt").exists()
    assert files(tmp_path) == []


@pytest.mark.parametrize("form", FORMS)
def test_killed_after_renaming_no_row_is_met_twice(tmp_path: Path, form: Form) -> None:
    path = write(tmp_path, [line()])
    content = path.read_bytes()
    keeper(tmp_path, form).tidy()
    path.write_bytes(content)
    assert len(list(read_rows(tmp_path))) == 1
    keeper(tmp_path, "jsonl").tidy()
    assert [file.form for file in files(tmp_path)] == [SUFFIX[form]]
    assert len(list(read_rows(tmp_path))) == 1


def test_killed_while_packing_it_is_packed_again(tmp_path: Path) -> None:
    path = write(tmp_path, [line()])
    (tmp_path / f".packing-{path.stem}.parquet").write_bytes(b"half")
    keeper(tmp_path).tidy()
    assert {file.name for file in tmp_path.iterdir()} == {f"{path.stem}.parquet", ".keeping"}
    assert len(list(read_rows(tmp_path))) == 1


def test_a_full_disk_while_packing_leaves_the_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, [line()])

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    heard = Heard()
    tidied = keeper(tmp_path, heard=heard)
    tidied.tidy()
    tidied.tidy()
    assert heard.segments_ == {"failed": 2}
    assert [file.path for file in files(tmp_path)] == [path]
    assert not list(tmp_path.glob(".packing*"))
    monkeypatch.undo()
    tidied.tidy()
    assert heard.segments_["packed"] == 1


def test_without_pyarrow_lines_stay_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, [line()])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    heard = Heard()
    keeper(tmp_path, heard=heard).tidy()
    assert heard.segments_ == {"failed": 1}
    assert len(list(read_rows(tmp_path))) == 1


@pytest.mark.parametrize("form", [".parquet", ".jsonl.gz"])
def test_damaged_files_cost_no_other(tmp_path: Path, form: str) -> None:
    write(tmp_path, [line()], NOON - DAY)
    keeper(tmp_path, "parquet" if form == ".parquet" else "jsonl").tidy()
    (file,) = files(tmp_path)
    file.path.write_bytes(file.path.read_bytes()[:-20])
    write(tmp_path, [line()])
    told: list[tuple[str, int]] = []
    rows = list(read_rows(tmp_path, skipped=lambda path, count: told.append((path.name, count))))
    assert told[-1] == (file.path.name, 0)
    assert rows[-1]["at"] == NOON


def test_one_process_at_a_time(tmp_path: Path) -> None:
    write(tmp_path, [line()])
    script = "import fcntl,sys,time; f=open(sys.argv[1],'w'); fcntl.flock(f,fcntl.LOCK_EX); print('held',flush=True); time.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / ".keeping")], stdout=subprocess.PIPE
    ) as other:
        try:
            assert other.stdout is not None
            other.stdout.readline()
            keeper(tmp_path).tidy()
            assert files(tmp_path)[0].form == ".jsonl"
        finally:
            other.kill()
    keeper(tmp_path).tidy()
    assert files(tmp_path)[0].form == ".parquet"


def test_rows_of_a_time_and_of_a_tenant(tmp_path: Path) -> None:
    for day in range(5):
        at = NOON - day * DAY
        write(
            tmp_path,
            [line(replace(MISS, at=at + second, tenant=f"t{second % 2}")) for second in range(4)],
            at,
        )
    found: list[Row] = list(read_rows(tmp_path, NOON - 2 * DAY + 1, NOON + 2))
    assert [row["at"] for row in found] == [
        *(NOON - 2 * DAY + second for second in (1, 2, 3)),
        *(NOON - DAY + second for second in range(4)),
        NOON,
        NOON + 1,
    ]
    assert [row["at"] for row in read_rows(tmp_path, NOON, NOON + DAY, tenant="t1")] == [NOON + 1, NOON + 3]


def test_reading_beside_packing(tmp_path: Path) -> None:
    for day in range(3):
        write(tmp_path, [line()] * 3, NOON - day * DAY)
    reading = read_rows(tmp_path)
    first = next(reading)
    keeper(tmp_path).tidy()
    # The file that is open is read to its end, the others in their new form.
    assert len([first, *reading]) == 9


def test_the_thread_packs_by_itself_and_ends(tmp_path: Path) -> None:
    kept = keeper(tmp_path)
    kept.start()
    kept.start()
    write(tmp_path, [line()])
    kept.wake()
    until = time.monotonic() + 20
    while [file.form for file in files(tmp_path)] != [".parquet"]:
        assert time.monotonic() < until
        time.sleep(0.01)
    kept.stop()
    kept.stop()


def test_killed_in_the_middle_of_writing(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from semcache.cost.rows import RowFiles\n"
        "from tests.cost.told import HandClock, Heard\n"
        "clock = HandClock(); out = RowFiles(Path(sys.argv[1]), 'w', 5000, clock, Heard())\n"
        "for turn in range(10**9):\n"
        "    clock.at += 0.002\n"
        "    out.write([b'{\"at\":%d}\\n' % turn] * 3)\n"
        "    if turn == 2000: print('well under way', flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as writing:
        assert writing.stdout is not None
        writing.stdout.readline()
        writing.kill()
    before = [row["at"] for row in read_rows(tmp_path)]
    assert len(before) >= 6000
    whole = before[: len(before) // 3 * 3]
    assert whole == [turn for turn in range(len(whole) // 3) for _ in range(3)]
    keeper(tmp_path).tidy()
    assert [row["at"] for row in read_rows(tmp_path)] == before
    assert {file.form for file in files(tmp_path)} == {".parquet"}


def test_rows_are_json_that_other_tools_read(tmp_path: Path) -> None:
    path = write(tmp_path, [line()])
    told = json.loads(path.read_text())
    assert told["cost"] > 0
    assert told["embedding_cost"] == 0
    assert "similarity" not in told
