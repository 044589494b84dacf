"""The repository checks itself: sizes, words, docstrings, tests beside code, links that lead somewhere."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "semcache").rglob("*.py"))
MODULES = [path for path in SOURCES if path.name != "__init__.py"]
NAMES = {path: str(path.relative_to(ROOT)) for path in SOURCES}


@pytest.mark.parametrize("path", MODULES, ids=NAMES.get)
def test_files_stay_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400, "split the file: a reader wants to hold it in the head"


@pytest.mark.parametrize("path", MODULES, ids=NAMES.get)
def test_every_module_says_what_it_does(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), (
        "a module begins with what it does and does not know"
    )


@pytest.mark.parametrize("path", SOURCES, ids=NAMES.get)
def test_no_junk_drawers(path: Path) -> None:
    assert path.stem not in {"utils", "util", "helpers", "misc", "common", "manager"}


def test_every_room_has_tests() -> None:
    for room in (ROOT / "semcache").iterdir():
        if room.is_dir() and (room / "__init__.py").exists():
            assert list((ROOT / "tests" / room.name).glob("test_*.py")), f"no tests for {room.name}"


def test_no_unfinished_marks() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|raise NotImplementedError")
    found = [NAMES[path] for path in SOURCES if marks.search(path.read_text())]
    assert not found


def test_every_suppression_has_its_reason() -> None:
    bare = re.compile(r"#\s*(?:noqa: [A-Z0-9, ]+|type: ignore\[[a-z-, ]+\])\s*$", re.MULTILINE)
    found = [f"{NAMES[path]}: {hit}" for path in SOURCES for hit in bare.findall(path.read_text())]
    assert not found, "say beside it why the checker is wrong"


def test_documents_link_to_what_exists() -> None:
    link = re.compile(r"\]\((?!https?://|#|mailto:)([^)#]+)")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in link.findall(page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_documents_name_paths_that_exist() -> None:
    path_like = re.compile(r"`((?:semcache|scripts|policies|docs|tests)/[\w./-]+)`")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for name in path_like.findall(page.read_text()):
            assert (ROOT / name.rstrip("/.")).exists(), f"{page.name} names {name}"


def test_every_metric_is_documented() -> None:
    files = [*sorted((ROOT / "semcache/cost").glob("*.py")), ROOT / "semcache/app.py"]
    source = "".join(path.read_text() for path in files)
    docs = (ROOT / "docs/operating.md").read_text()
    for name in set(re.findall(r'"(semcache_[a-z_]+)"', source)):
        assert name in docs, f"docs/operating.md does not explain {name}"


def test_every_setting_is_documented() -> None:
    from semcache.settings import Settings

    docs = (ROOT / "docs/operating.md").read_text()
    for name, field in Settings.model_fields.items():
        assert f"`{name}" in docs, f"docs/operating.md does not explain {name}"
        parts = getattr(field.annotation, "model_fields", {})
        for part in parts:
            assert f"`{name}.{part}`" in docs, f"docs/operating.md does not explain {name}.{part}"


WEIGHTS = "semcache/decide/verify/weights/"
"""What ships inside the package: trained, so no text, and larger."""


def test_tracked_files_are_text_or_small() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.exists():
            most = 10_000_000 if name.startswith(WEIGHTS) else 1_000_000
            assert path.stat().st_size < most, f"{name} is too large for the repository"
