"""Makes the calibration table of an encoder: from its own cosine to the reference scale.

    python scripts/calibrate_encoder.py MODEL --reference FOLDER [--data DIR] [--out FILE]

MODEL and FOLDER are converted model folders (MODEL may be any sentence-transformers folder or hub
name); FOLDER is all-MiniLM-L6-v2, which is run in fp32 as the reference. Without --out the table
goes to the shipped ones; put it into a model folder as `semcache-calibration.json` to keep it there.

Method. Two thresholds mean the same when they let the same share of different-answer pairs
through. That share is averaged over the sets (each counts the same). Chinese sets have no
reference opposite, for the reference cannot read Chinese: the same frames in Chinese stand against
those in English (adversarial), and PAWS-X zh against PAWS-Wiki. The printed table shows, set by set,
how far that holds. Deterministic: the first pairs of each file, no randomness.

Data: adversarial frames (own); CheckList (Ribeiro et al. 2020, MIT); PAWS and PAWS-X (Google LLC);
MedQuAD and RQE (Ben Abacha, Demner-Fushman, CC BY 4.0); cMedQQ (Zhang et al. 2020, Apache-2.0;
for the quantiles of unrelated Chinese pairs only).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from semcache.core import Vector
from semcache.embed.calibration import Anchor, CalibrationTable, scale_of
from semcache.embed.manifest import read_manifest
from semcache.embed.open import model_source
from semcache.embed.spec import TextModel
from semcache.embed.st_encoder import SentenceTransformerModel
from semcache.embed.vectors import cosine
from semcache.errors import EncoderError

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ROOT / "semcache" / "embed" / "calibration"
LEVELS = (
    0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.125, 0.15, 0.175, 0.2, 0.225,
    0.25, 0.275, 0.3, 0.325, 0.35, 0.375, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99,
)  # fmt: skip
THRESHOLDS = (0.80, 0.85, 0.90, 0.92, 0.95, 0.97, 0.98)
READABLE = 0.9
"""A set is used when the encoder reads at least this share of its pairs."""

Cosines = NDArray[np.float64]


@dataclass(frozen=True)
class PairSet:
    """Different-answer pairs of one file in one language, and the set the reference is asked on."""

    name: str
    file: str
    lang: str
    reference: str


SETS = (
    PairSet("adversarial en", "adversarial.jsonl", "en", "adversarial en"),
    PairSet("checklist en", "checklist_en.jsonl", "en", "checklist en"),
    PairSet("paws en", "paws_wiki_en.jsonl", "en", "paws en"),
    PairSet("medquad en", "medquad_en.jsonl", "en", "medquad en"),
    PairSet("rqe en", "rqe_medical_en.jsonl", "en", "rqe en"),
    PairSet("adversarial zh", "adversarial.jsonl", "zh", "adversarial en"),
    PairSet("paws-x zh", "pawsx_zh.jsonl", "zh", "paws en"),
)
UNRELATED = {"en": ("rqe_medical_en.jsonl", "en"), "zh": ("cmedqq_zh.jsonl", "zh")}


def read_pairs(path: Path, lang: str, limit: int) -> list[tuple[str, str]]:
    """Give the first different-answer pairs of one language (files are in random order)."""
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [(row["a"], row["b"]) for row in rows if row["lang"] == lang and not row["same"]][:limit]


def embed_all(model: TextModel, texts: Iterable[str], progress: Progress) -> dict[str, Vector]:
    """Embed distinct texts, one a pass, shortest first; refused texts are left out."""
    order = sorted(set(texts), key=lambda text: (len(text), text))
    vectors: dict[str, Vector] = {}
    for text in progress.track(order, description=f"{model.spec.name} ({model.spec.runtime})"):
        (result,) = model.embed([text])
        if isinstance(result, EncoderError):
            if not result.is_refusal:
                raise result
        else:
            vectors[text] = result
    return vectors


def cosines(pairs: list[tuple[str, str]], vectors: dict[str, Vector]) -> Cosines | None:
    """Cosines of the readable pairs; None when too few are readable."""
    found = [cosine(vectors[a], vectors[b]) for a, b in pairs if a in vectors and b in vectors]
    return np.sort(np.array(found))[::-1] if len(found) >= READABLE * len(pairs) else None


def pooled_thresholds(sets: list[Cosines]) -> list[float]:
    """For each level, the cosine at which the mean share of pairs above it over the sets is that level."""
    values = np.concatenate(sets)
    weights = np.concatenate([np.full(len(each), 1.0 / (len(each) * len(sets))) for each in sets])
    order = np.argsort(-values, kind="stable")
    shares = np.cumsum(weights[order]) - 0.5 * weights[order]
    return [float(np.interp(level, shares, values[order])) for level in LEVELS]


def fit(own: dict[str, Cosines], reference: dict[str, Cosines]) -> tuple[tuple[float, float], ...]:
    """Make the knots: (raw, reference) at equal mean shares over all usable sets, strictly rising."""
    used = [each for each in SETS if each.name in own]
    raws = pooled_thresholds([own[each.name] for each in used])
    references = pooled_thresholds([reference[each.reference] for each in used])
    knots = [(1.0, 1.0)]
    for raw, mark in zip(raws, references, strict=True):
        # A knot closer than this to the one above only repeats the noise of the sample.
        if raw <= knots[-1][0] - 0.002 and mark <= knots[-1][1] - 0.002:
            knots.append((round(raw, 4), round(mark, 4)))
    return ((-1.0, -1.0), *reversed(knots))


def anchors_of(vectors: dict[str, Vector]) -> tuple[Anchor, ...]:
    """The anchor pairs that the encoder reads, with its cosines."""
    pairs = json.loads((SHIPPED / "anchors.json").read_text(encoding="utf-8"))["pairs"]
    readable = [(a, b) for a, b in pairs if a in vectors and b in vectors]
    return tuple(Anchor(a=a, b=b, cosine=round(cosine(vectors[a], vectors[b]), 4)) for a, b in readable)


def unrelated(data: Path, limit: int, vectors: dict[str, Vector]) -> dict[str, float]:
    """Quantiles of raw cosines between each question and the next pair's second one."""
    quantiles = {}
    for lang, (file, code) in UNRELATED.items():
        pairs = read_pairs(data / file, code, limit)
        shifted = [(a, b) for (a, _), (_, b) in pairwise(pairs)]
        found = cosines(shifted, vectors)
        if found is not None:
            for q in (0.5, 0.9, 0.99, 0.999):
                quantiles[f"{lang} p{q * 100:g}"] = round(float(np.quantile(found, q)), 4)
    return quantiles


def report(
    console: Console, table: CalibrationTable, own: dict[str, Cosines], reference: dict[str, Cosines]
) -> None:
    """Print the scale and, per set, the share of different pairs above each threshold."""
    scale = scale_of(table)
    out = Table("reference", *(f"{t:.2f}" for t in THRESHOLDS), title=f"{table.encoder} ({table.runtime})")
    out.add_row("raw", *(f"{scale.from_reference(t):.4f}" for t in THRESHOLDS))
    for each in SETS:
        if each.name not in own:
            continue
        theirs = [np.mean(reference[each.reference] >= t) for t in THRESHOLDS]
        ours = [np.mean(own[each.name] >= scale.from_reference(t)) for t in THRESHOLDS]
        cells = (f"{100 * a:.1f} / {100 * b:.1f}" for a, b in zip(ours, theirs, strict=True))
        out.add_row(f"{each.name} n={len(own[each.name])} % above / reference", *cells)
    console.print(out)
    quantiles = Table("unrelated pairs", "raw", "reference")
    for name, value in table.unrelated.items():
        quantiles.add_row(name, f"{value:.4f}", f"{scale.to_reference(value):.4f}")
    console.print(quantiles)


def reference_model(folder: Path) -> TextModel:
    """The reference encoder in fp32."""
    manifest = read_manifest(folder)
    if manifest is None or manifest.name != "all-MiniLM-L6-v2" or manifest.encoder.st is None:
        sys.exit(f"{folder} is not the converted folder of all-MiniLM-L6-v2")
    return SentenceTransformerModel(str(folder / manifest.encoder.st), "cpu", name=manifest.name, prefix="")


def main() -> None:
    """Read the command line, embed, fit, print, write."""
    parser = argparse.ArgumentParser(description="Make an encoder's calibration table.")
    parser.add_argument("model", help="converted folder, sentence-transformers folder or hub name")
    parser.add_argument("--reference", type=Path, default=ROOT / "semcache-data/models/all-MiniLM-L6-v2")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--limit", type=int, default=800, help="pairs a set, from the beginning of its file")
    parser.add_argument("--prefix", help="put before each text of a model without manifest")
    parser.add_argument("--device", choices=("cpu", "cuda", "torch-cpu"), default="cpu")
    args = parser.parse_args()
    console = Console()
    pairs = {each.name: read_pairs(args.data / each.file, each.lang, args.limit) for each in SETS}
    english = [text for each in SETS if each.lang == "en" for pair in pairs[each.name] for text in pair]
    others = [text for each in SETS if each.lang != "en" for pair in pairs[each.name] for text in pair]
    others += [
        text
        for file, lang in UNRELATED.values()
        for pair in read_pairs(args.data / file, lang, args.limit)
        for text in pair
    ]
    others += [
        text for pair in json.loads((SHIPPED / "anchors.json").read_text("utf-8"))["pairs"] for text in pair
    ]
    model = load(args.model, args.prefix, args.device)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        theirs = embed_all(reference_model(args.reference), english, progress)
        ours = embed_all(model, english + others, progress)
    own = {name: found for name in pairs if (found := cosines(pairs[name], ours)) is not None}
    reference = {name: found for name in pairs if (found := cosines(pairs[name], theirs)) is not None}
    spec = model.spec
    table = CalibrationTable(
        format=1,
        encoder=spec.name,
        runtime=spec.runtime,
        weights=spec.weights,
        dim=spec.dim,
        prefix=spec.prefix,
        method="equal mean share of different-answer pairs; sets: " + ", ".join(own),
        knots=fit(own, reference),
        anchors=anchors_of(ours),
        unrelated=unrelated(args.data, args.limit, ours),
    )
    report(console, table, own, reference)
    out = args.out or SHIPPED / f"{spec.name}.{spec.runtime}.json"
    out.write_text(render(table), encoding="utf-8")
    console.print(f"{len(table.knots)} knots and {len(table.anchors)} anchors written to {out}")


def load(model: str, prefix: str | None, device: str) -> TextModel:
    """Load the encoder to calibrate; `torch-cpu` runs a converted folder's fp32 weights."""
    manifest = read_manifest(Path(model)) if Path(model).is_dir() else None
    if device == "torch-cpu" and manifest and manifest.encoder.st:
        folder = str(Path(model) / manifest.encoder.st)
        return SentenceTransformerModel(folder, "cpu", name=manifest.name, prefix=manifest.encoder.prefix)
    source = model_source(model, prefix, "cuda" if device == "cuda" else "cpu")
    assert source is not None
    return source.load()


def render(table: CalibrationTable) -> str:
    """The table as JSON with one knot or anchor a line, so that changes can be read."""
    body = table.model_dump()
    lines = [
        f'  "{key}": [\n'
        + ",\n".join(f"    {json.dumps(item, ensure_ascii=False)}" for item in value)
        + "\n  ]"
        if key in ("knots", "anchors")
        else f'  "{key}": {json.dumps(value, ensure_ascii=False)}'
        for key, value in body.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    main()
