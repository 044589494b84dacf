"""The generated pairs: repeatable, balanced, labelled as their meanings say, and none of what is measured."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from scripts.verifier.synth.english import gerund, participle, plural, with_articles  # noqa: E402
from scripts.verifier.synth.languages import chinese, english  # noqa: E402
from scripts.verifier.synth.loading import families, groups, schemas  # noqa: E402
from scripts.verifier.synth.pairs import Pair  # noqa: E402
from scripts.verifier.synth.quantities import CHINESE, ENGLISH, plain  # noqa: E402

SHARED = ROOT.parent / "shared" / "data"
MEASURED = (
    "written_pairs.jsonl", "fow_pairs_en.jsonl", "gptcache_mock_en.jsonl", "banking77_classes_en.jsonl",
    "clinc150_classes_en.jsonl",
)  # fmt: skip


@lru_cache(maxsize=2)
def made(lang: str, count: int = 3000) -> tuple[Pair, ...]:
    maker = english(None) if lang == "en" else chinese()
    return tuple(maker.pairs(random.Random(3), count))


def squeezed(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_half_of_the_pairs_are_same(lang: str) -> None:
    assert sum(p.same for p in made(lang)) * 2 == len(made(lang))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_mark_of_the_templates_is_left(lang: str) -> None:
    for pair in made(lang):
        for text in (pair.a, pair.b):
            assert not re.search(r"[{}<>~|]|(?:^| )!\w", text), text
            assert text.strip()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_different_pairs_differ_in_more_than_case_and_punctuation(lang: str) -> None:
    for pair in made(lang):
        if not pair.same:
            assert squeezed(pair.a) != squeezed(pair.b)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_one_pair_of_texts_never_has_both_labels(lang: str) -> None:
    labels: dict[frozenset[str], set[bool]] = {}
    for pair in made(lang):
        labels.setdefault(frozenset((squeezed(pair.a), squeezed(pair.b))), set()).add(pair.same)
    assert [texts for texts, found in labels.items() if len(found) > 1] == []


def test_labels_are_alike_in_overlap_and_length() -> None:
    def overlap(pair: Pair) -> float:
        first, second = (set(squeezed(t).split()) for t in (pair.a, pair.b))
        return len(first & second) / len(first | second)

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    same = [p for p in made("en") if p.same]
    trap = [p for p in made("en") if not p.same]
    assert abs(mean([overlap(p) for p in same]) - mean([overlap(p) for p in trap])) < 0.03
    assert abs(mean([len(p.edits) for p in same]) - mean([len(p.edits) for p in trap])) < 0.4
    assert abs(mean([len(p.a) for p in same]) - mean([len(p.a) for p in trap])) < 6


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_kind_of_trap_is_made(lang: str) -> None:
    kinds = Counter(p.kind for p in made(lang))
    wanted = {"class", "sibling", "confusable", "added modifier", "dropped modifier", "other modifier", "swapped",
              "number", "unit", "comparison", "negation", "two words", "same domain", "owner", "restriction"}  # fmt: skip
    assert wanted <= set(kinds)
    assert max(n for kind, n in kinds.items() if kind != "same") < len(made(lang)) / 5


def test_a_seed_gives_the_same_rows_in_another_process(tmp_path: Path) -> None:
    texts = []
    for name, hashing in (("a", "1"), ("b", "2")):
        out = tmp_path / f"{name}.jsonl"
        command = [
            sys.executable,
            "-m",
            "scripts.verifier.synth",
            "--out",
            str(out),
            "--pairs",
            "200",
            "--seed",
            "5",
        ]
        subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "PYTHONHASHSEED": hashing})
        texts.append(out.read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    assert set(json.loads(texts[0].splitlines()[0])) == {"a", "b", "same", "lang", "kind", "edits"}


def test_no_row_of_the_measuring_files_is_made() -> None:
    if not SHARED.is_dir():
        pytest.skip("no data files here")
    measured: set[frozenset[str]] = set()
    for name in MEASURED:
        for line in (SHARED / name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if "b" in row:
                measured.add(frozenset((squeezed(row["a"]), squeezed(row["b"]))))
    for lang in ("en", "zh"):
        assert not measured & {frozenset((squeezed(p.a), squeezed(p.b))) for p in made(lang)}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_synonyms_and_different_words_do_not_contradict_each_other(lang: str) -> None:
    """Two words of one group of equal words are in no group of different ones (same part of speech)."""
    equal = {
        (pos, frozenset((a, b)))
        for pos, ws, more in groups(f"same_{lang}.txt")
        for a in ws
        for b in [*ws, *more]
    }
    for pos, words, _ in groups(f"other_{lang}.txt"):
        assert not [w for a in words for b in words if a != b and (w := (pos, frozenset((a, b)))) in equal]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_wording_stands_for_two_questions_of_a_family_or_schema(lang: str) -> None:
    for schema in [*families(lang), *schemas(lang)]:
        counts = Counter(t for templates in schema.classes.values() for t in {squeezed(t) for t in templates})
        assert [t for t, n in counts.items() if n > 1] == [], schema.name


@pytest.mark.parametrize(
    ("form", "word", "wanted"),
    [
        (gerund, "set up", "setting up"),
        (gerund, "tie", "tying"),
        (gerund, "make", "making"),
        (gerund, "sign up for", "signing up for"),
        (participle, "take out", "taken out"),
        (participle, "apply for", "applied for"),
        (participle, "stop", "stopped"),
        (plural, "ripe tomato", "ripe tomatoes"),
        (plural, "knife", "knives"),
        (plural, "battery", "batteries"),
        (with_articles, "a hour and an useful unit", "an hour and a useful unit"),
        (with_articles, "A eSIM or an UK plug", "An eSIM or a UK plug"),
    ],
)
def test_word_forms(form, word: str, wanted: str) -> None:
    assert form(word) == wanted


def test_equal_quantities_are_equal_and_other_ones_are_not() -> None:
    rng = random.Random(1)
    seen = {plain(ENGLISH.equal("within <14 days>", rng)) for _ in range(40)}
    assert seen <= {
        "within 14 days",
        "within 2 weeks",
        "within two weeks",
        "within a fortnight",
        "within fourteen days",
    }
    for _ in range(40):
        other = ENGLISH.other_number("within <14 days>", rng)
        assert other is not None
        assert other not in {"within <14 days>", "within <2 weeks>"}
    assert ENGLISH.other_comparison("under <18 years>", rng) not in {
        None,
        "up to <18 years>",
        "below <18 years>",
    }
    assert plain(CHINESE.equal("过了<14天>", random.Random(2))) in {
        "过了14天",
        "过了两周",
        "过了2周",
        "过了两个星期",
        "过了十四天",
    }
