"""The README says the same in both languages: sections, commands, links, and what stands in code."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)


def headings(text: str) -> list[int]:
    """The depth of each heading, in order."""
    return [len(mark) for mark in re.findall(r"^(#+) ", FENCE.sub("", text), re.M)]


def commands(text: str) -> list[str]:
    """The lines of all blocks of code without their comments, which are translated."""
    lines = [line for block in FENCE.findall(text) for line in block.splitlines()]
    return [re.sub(r"\s+# .*", "", line).rstrip() for line in lines]


def links(text: str) -> Counter[str]:
    """Where the page leads to, and how often, but for the other language's page."""
    return Counter(place for place in re.findall(r"\]\(([^)]+)\)", text) if not place.startswith("README"))


def quoted(text: str) -> Counter[str]:
    """What stands in the running text as code."""
    return Counter(re.findall(r"`([^`\n]+)`", FENCE.sub("", text)))


def test_each_leads_to_the_other_at_its_head() -> None:
    assert "(README.zh.md)" in "".join(ENGLISH.splitlines()[:4])
    assert "(README.md)" in "".join(CHINESE.splitlines()[:4])


@pytest.mark.parametrize("part", [headings, commands, links, quoted], ids=lambda part: part.__name__)
def test_both_have_the_same(part: object) -> None:
    assert callable(part)
    assert part(ENGLISH) == part(CHINESE)
    assert part(ENGLISH)


def test_tables_and_lists_are_as_long() -> None:
    for begin in ("| ", "- ", "!["):
        counts = [sum(line.startswith(begin) for line in text.splitlines()) for text in (ENGLISH, CHINESE)]
        assert counts[0] == counts[1], begin


def test_it_leads_to_what_exists() -> None:
    for place in links(CHINESE):
        assert place.startswith("http") or (ROOT / place.partition("#")[0]).exists(), place
