"""The committed table is of the pinned versions, of all clients, and says what the known faults say."""

from __future__ import annotations

import json
import re

import pytest

from tests.clients.faults import FAULTS
from tests.clients.lanes import HERE, LANES, ROOT
from tests.clients.scenes import SCENES
from tests.clients.sheet import STATES
from tests.clients.table import ENGINE, FEW, NODE, Package, packages_table, page, pins, read_report

PAGE = ROOT / "docs" / "clients.md"


def test_the_page_is_of_the_pinned_versions() -> None:
    assert packages_table() in PAGE.read_text(encoding="utf-8"), "run ./scripts/clients"


def test_the_page_has_every_client_and_every_known_fault() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for lane in LANES:
        rows = re.findall(rf"(?m)^\| {re.escape(lane.name)} \| [✓✗]", text)
        assert len(rows) == len(lane.seats), f"run ./scripts/clients: {lane.name}"
    assert text.count("✗<sup>") == sum(map(len, FAULTS.values())), "run ./scripts/clients"


def test_one_version_of_a_package_everywhere() -> None:
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    for package, version in pins().items():
        if package.pinned_in != NODE and (pinned := re.search(rf"(?m)^{package.name}==(\S+)$", constraints)):
            assert pinned[1] == version, f"{package.name} in constraints.txt and {package.pinned_in}"


def test_files_of_packages_name_no_registry() -> None:
    lock = json.loads((HERE / "node" / "package-lock.json").read_text(encoding="utf-8"))
    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
    assert all("integrity" in package for name, package in lock["packages"].items() if name)
    for file in HERE.glob("requirements-*.txt"):
        assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in file.read_text().splitlines())


def test_a_run_that_is_not_whole_makes_no_table() -> None:
    rows = [
        {"lane": seat.name, "backend": seat.backend, "scenario": scenario, "right": STATES, "wrong": []}
        for lane in LANES
        for seat in lane.seats
        for scenario in SCENES
    ]
    engine = [
        {"lane": lane.name, "backend": ENGINE, "scenario": ENGINE, "right": FEW[ENGINE], "wrong": []}
        for lane in LANES
    ]
    lines = [json.dumps(row) for row in (*rows, *engine)]
    whole = page(read_report(lines), "")
    assert "✗" not in whole.partition("## What works")[2].partition("###")[2]
    with pytest.raises(KeyError):
        page(read_report(lines[1:]), "")


def test_a_known_fault_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    seat = LANES[0].seats[0]
    monkeypatch.setitem(FAULTS, (seat.name, seat.backend, "chat"), {"draft": "It rains."})
    rows = [
        {
            "lane": one.name,
            "backend": one.backend,
            "scenario": scenario,
            "right": STATES if (one, scenario) != (seat, "chat") else STATES[:3],
            "wrong": [] if (one, scenario) != (seat, "chat") else ["draft"],
        }
        for lane in LANES
        for one in lane.seats
        for scenario in SCENES
    ]
    rows += [
        {"lane": lane.name, "backend": ENGINE, "scenario": ENGINE, "right": FEW[ENGINE], "wrong": []}
        for lane in LANES
    ]
    text = page(read_report(map(json.dumps, rows)), "")
    assert f"| {seat.name} | ✓✓✓✗<sup>1</sup> |" in text
    assert "1. It rains." in text


def test_packages_have_an_address_each() -> None:
    assert all(isinstance(package, Package) and package.address for package in pins())
