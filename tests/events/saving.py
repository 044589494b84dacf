"""Everything that semcache saves in files, each as a loop that can be killed at any moment and a look at what it left.

A loop says how far it is only after what it did was acknowledged to it. Whoever kills it then demands: what was
acknowledged is there, and what is there is whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from semcache.archive.files import whole
from semcache.batching.journal import Journal
from semcache.cost.keeping import Keeper, KeepRules
from semcache.cost.plain import dumped
from semcache.cost.prices import PriceBook
from semcache.cost.row_making import row_of
from semcache.cost.row_reader import read_rows
from semcache.cost.rows import RowFiles
from semcache.cost.savings import costed
from semcache.cost.segments import segments
from semcache.cost_rules import CostPolicy
from semcache.lookup.snapshot_shelf import Shelf
from semcache.models.files import publish, seal, sweep
from semcache.prefix_parts import installation_secret
from semcache.review.access import kept_token
from semcache.settings import Settings
from tests.cost.told import MISS, NOON, HandClock, Heard
from tests.lookup.snapshots import HEADER, block, saved

SIZE = 200_000
"""Bytes of a file that takes a moment to write."""


@dataclass(frozen=True)
class Saving:
    """`run` yields each number once it is acknowledged; `found` gives the numbers that are there, or fails."""

    run: Callable[[Path], Iterator[int]]
    found: Callable[[Path], set[int]]
    keeps_all: bool = True
    """What is acknowledged stays beside what comes later; else the last one or a later one is there."""


def filled(number: int) -> bytes:
    piece = f"{number:08d}".encode()
    return piece * (SIZE // len(piece))


def number_of(data: bytes) -> int:
    number = int(data[:8])
    assert data == filled(number), "a mixture"
    return number


# -- rows of the ledger, and their packing ------------------------------------------------------


def numbered_row(number: int) -> bytes:
    record = replace(MISS, request_id=f"req_{number}")
    return dumped(row_of(record, costed(record, PriceBook(), CostPolicy())))


def numbers_in(folder: Path) -> list[int]:
    return [int(str(row["id"]).removeprefix("req_")) for row in read_rows(folder)]


def rows_written(folder: Path) -> Iterator[int]:
    out = RowFiles(folder, "w", 40_000, HandClock(NOON), Heard())
    for number in itertools.count(1):
        out.write([numbered_row(number)])
        yield number


def rows_packed(folder: Path) -> Iterator[int]:
    keeper = Keeper(folder, KeepRules("parquet"), HandClock(NOON), Heard())
    for number in itertools.count(1):
        out = RowFiles(folder, f"w{number}", 1 << 30, HandClock(NOON + number), Heard())
        out.write([numbered_row(number)] * 40)
        out.close()
        yield number
        keeper.tidy()


def rows_found(folder: Path) -> set[int]:
    Keeper(folder, KeepRules("jsonl"), HandClock(NOON), Heard()).tidy()
    assert not list(folder.glob(".packing-*")), "what a killed packer left is cleared up"
    assert segments(folder)
    numbers = numbers_in(folder)
    times = {numbers.count(number) for number in set(numbers)}
    assert len(times) == 1, "no row is met twice"
    return set(numbers)


# -- one file after the other in the same place -------------------------------------------------


def whole_files(folder: Path) -> Iterator[int]:
    folder.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        with whole(folder / "file") as file:
            file.write(filled(number))
        yield number


def whole_file(folder: Path) -> set[int]:
    return {number_of((folder / "file").read_bytes())}


def model_folders(folder: Path) -> Iterator[int]:
    folder.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        sweep(folder, "model")
        made = folder / f".model.{number}.tmp"
        made.mkdir()
        for name in ("weights", "tokenizer", "manifest"):
            (made / name).write_bytes(filled(number))
        seal(made)
        publish(made, folder / "model")
        yield number


def model_folder(folder: Path) -> set[int]:
    if not (folder / "model").exists():
        # Between the old folder and the new one; both lie beside it, and it is fetched again.
        assert list(folder.glob(".model.*.tmp"))
        shutil.rmtree(folder, ignore_errors=True)
        return set()
    numbers = {
        number_of((folder / "model" / name).read_bytes()) for name in ("weights", "tokenizer", "manifest")
    }
    assert len(numbers) == 1
    return numbers


def snapshots(folder: Path) -> Iterator[int]:
    for number in itertools.count(1):
        saved(folder, block(50, seed=number), block(50, seed=number, tenant="other"))
        yield number


def snapshot(folder: Path) -> set[int]:
    opened = Shelf(folder).open()
    assert opened is not None
    with contextlib.closing(opened):
        assert opened.header == HEADER
        numbers = {int(str(name).split("-")[0]) for one in opened.blocks() for name in one.ids}
    assert len(numbers) == 1
    return numbers


# -- secrets that are made once -----------------------------------------------------------------


def secrets_made(folder: Path) -> Iterator[int]:
    for number in itertools.count(1):
        place = folder / str(number)
        told = kept_token(place / "admin-token") + installation_secret(Settings(data=place)).hex()
        (folder / "told").mkdir(exist_ok=True)
        (folder / "told" / str(number)).write_text(hashlib.sha256(told.encode()).hexdigest())
        yield number


def secrets_found(folder: Path) -> set[int]:
    found = set()
    for place in folder.iterdir():
        if place.name == "told":
            continue
        now = kept_token(place / "admin-token") + installation_secret(Settings(data=place)).hex()
        told = folder / "told" / place.name
        if told.exists() and len(text := told.read_text()) == 64:
            assert hashlib.sha256(now.encode()).hexdigest() == text, "another secret than was given out"
            found.add(int(place.name))
    return found


# -- answers of a batch -------------------------------------------------------------------------


def answers_noted(folder: Path) -> Iterator[int]:
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder / "journal", "batch")
    journal.open()
    for number in itertools.count(1):
        journal.put(number, {"answer": number, "text": "x" * 300})
        if number % 50 == 0:
            journal.finish(folder / "out", range(1, number + 1), {})
        yield number


def answers_found(folder: Path) -> set[int]:
    journal = Journal(folder / "journal", "batch")
    journal.open()
    found = set(journal.places)
    journal.close(remove=False)
    out = folder / "out"
    if out.exists():
        lines = [json.loads(line) for line in out.read_bytes().splitlines()]
        assert [line["answer"] for line in lines] == list(range(1, len(lines) + 1))
        assert len(lines) % 50 == 0
    return found


SAVINGS = {
    "ledger-rows": Saving(rows_written, rows_found),
    "ledger-packing": Saving(rows_packed, rows_found),
    "archive": Saving(whole_files, whole_file, keeps_all=False),
    "models": Saving(model_folders, model_folder, keeps_all=False),
    "snapshots": Saving(snapshots, snapshot, keeps_all=False),
    "secrets": Saving(secrets_made, secrets_found),
    "batch": Saving(answers_noted, answers_found),
}


def work(name: str, folder: str, acknowledged: object) -> None:
    """Run a loop in a process of its own; `acknowledged.value` is how far it is."""
    for number in SAVINGS[name].run(Path(folder)):
        acknowledged.value = number  # type: ignore[attr-defined] # a shared number
