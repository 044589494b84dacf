"""Times, memory and quality of encoders, side by side.

    python scripts/bench/encoder.py [FOLDER ...] [--data DIR] [--pairs N] [--torch]

Each encoder runs in a process of its own (for its memory) on one thread. Columns: wall p50 and
p10 and CPU p50 in milliseconds for a short and a long question, texts a second one after another, growth of resident
memory, load time. Then, per file and encoder: AUC, and the share of same-answer (served) and
different-answer (false) pairs at or above the raw cosine that means 0.90, 0.92, 0.95 and 0.97 on the
reference scale. `--torch` adds the fp32 weights through sentence-transformers; a folder whose manifest
names a plain fp32 graph stands beside the others like any folder. An encoder that reads Chinese is
timed on Chinese. Figures are of the machine that ran it, as loaded as it was.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from semcache.embed.acceptance import calibrate
from semcache.embed.calibration import find_tables
from semcache.embed.manifest import read_manifest
from semcache.embed.onnx_encoder import OnnxModel
from semcache.embed.spec import TextModel
from semcache.embed.st_encoder import SentenceTransformerModel
from semcache.errors import EncoderError

ROOT = Path(__file__).resolve().parents[2]
THRESHOLDS = (0.90, 0.92, 0.95, 0.97)
FILES = (
    ("written_pairs.jsonl", "en"),
    ("fow_pairs_en.jsonl", "en"),
    ("adversarial.jsonl", "en"),
    ("checklist_en.jsonl", "en"),
    ("medquad_en.jsonl", "en"),
    ("paws_wiki_en.jsonl", "en"),
    ("written_pairs.jsonl", "zh"),
    ("adversarial.jsonl", "zh"),
    ("cmedqq_zh.jsonl", "zh"),
    ("pawsx_zh.jsonl", "zh"),
)
SHORT = {
    "en": "How do I reset my password on the customer portal, please?",
    "zh": "请问怎么在客户网站上重置我的登录密码？",
}
LONG = {"en": SHORT["en"] + " I have tried it twice." * 30, "zh": SHORT["zh"] + "我已经试过两次了。" * 40}


@dataclass(frozen=True)
class Speed:
    """Of one encoder: (wall p50, wall p10, CPU p50) in milliseconds, texts a second, MiB, seconds."""

    short: tuple[float, float, float]
    long: tuple[float, float, float]
    a_second: float
    memory: float
    load: float


@dataclass(frozen=True)
class Quality:
    """Of one encoder on one file: counts, AUC, and shares (served, false) by threshold."""

    same: int
    different: int
    auc: float
    shares: tuple[tuple[float, float], ...] | None


def open_model(folder: Path, kind: str) -> TextModel:
    """Load one variant of a converted folder: `onnx` or `torch`."""
    manifest = read_manifest(folder)
    assert manifest is not None, f"{folder} is no converted model folder"
    if kind == "torch":
        st = str(folder / (manifest.encoder.st or "."))
        return SentenceTransformerModel(st, "cpu", name=manifest.name, prefix=manifest.encoder.prefix)
    return OnnxModel(folder)


def current() -> float:
    """Present resident memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def timed(model: TextModel, text: str, runs: int) -> tuple[float, float, float]:
    """Give p50 and p10 of wall time and p50 of this thread's CPU time, in milliseconds."""
    wall, cpu = [], []
    for _ in range(runs + 3):
        began, spent = time.perf_counter(), time.thread_time()
        (result,) = model.embed([text])
        wall.append(1000 * (time.perf_counter() - began))
        cpu.append(1000 * (time.thread_time() - spent))
        assert not isinstance(result, EncoderError), result
    return float(np.quantile(wall[3:], 0.5)), float(np.quantile(wall[3:], 0.1)), float(np.median(cpu[3:]))


def speed(model: TextModel, lang: str, load: float, before: float, runs: int) -> Speed:
    """Time one loaded model."""
    short, long = timed(model, SHORT[lang], runs), timed(model, LONG[lang], max(5, runs // 6))
    began = time.perf_counter()
    for number in range(runs):
        model.embed([f"{SHORT[lang]} {number}"])
    return Speed(short, long, runs / (time.perf_counter() - began), current() - before, load)


def auc(same: np.ndarray, different: np.ndarray) -> float:
    """Chance that a same-answer pair lies above a different-answer one; ties count half."""
    order = np.sort(different)
    below = np.searchsorted(order, same, "left") + np.searchsorted(order, same, "right")
    return float(below.mean() / (2 * len(order)))


def quality(model: TextModel, path: Path, lang: str, limit: int) -> Quality | None:
    """Measure one file; None when the encoder reads less than nine tenths of it."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["lang"] == lang][:limit]
    vectors = {text: model.embed([text])[0] for row in rows for text in (row["a"], row["b"])}
    found: dict[bool, list[float]] = {True: [], False: []}
    for row in rows:
        a, b = vectors[row["a"]], vectors[row["b"]]
        if not isinstance(a, EncoderError) and not isinstance(b, EncoderError):
            found[row["same"]].append(float(a @ b))
    same, different = np.array(found[True]), np.array(found[False])
    if len(same) + len(different) < 0.9 * len(rows) or not len(same) or not len(different):
        return None
    scale = calibrate(model, find_tables(model.spec.name, None)).scale
    shares = None
    if scale is not None:
        raw = [scale.from_reference(t) for t in THRESHOLDS]
        shares = tuple((float((same >= t).mean()), float((different >= t).mean())) for t in raw)
    return Quality(len(same), len(different), auc(same, different), shares)


def measure(folder: Path, kind: str, data: Path, limit: int, runs: int) -> tuple[Speed, list[Quality | None]]:
    """All figures of one encoder; runs in a fresh process."""
    before, began = current(), time.perf_counter()
    model = open_model(folder, kind)
    load = time.perf_counter() - began
    (chinese,) = model.embed([SHORT["zh"]])
    timing = speed(model, "en" if isinstance(chinese, EncoderError) else "zh", load, before, runs)
    return timing, [quality(model, data / file, code, limit) if limit else None for file, code in FILES]


def speed_table(results: dict[str, tuple[Speed, list[Quality | None]]]) -> Table:
    """Times and memory."""
    table = Table(
        "encoder",
        "short p50 / p10 / cpu ms",
        "long p50 / p10 / cpu ms",
        "texts/s",
        "MiB",
        "load s",
        title="One thread",
    )
    for name, (each, _) in results.items():
        table.add_row(
            name,
            " / ".join(f"{ms:.1f}" for ms in each.short),
            " / ".join(f"{ms:.0f}" for ms in each.long),
            f"{each.a_second:.0f}",
            f"{each.memory:.0f}",
            f"{each.load:.2f}",
        )
    return table


def quality_table(results: dict[str, tuple[Speed, list[Quality | None]]]) -> Table:
    """Served and false shares a file."""
    table = Table(
        "file", "encoder", "pairs", "AUC", *(f"{t:.2f}" for t in THRESHOLDS), title="% served / % false"
    )
    for place, (file, lang) in enumerate(FILES):
        for name, (_, qualities) in results.items():
            each = qualities[place]
            if each is None:
                continue
            cells = (
                [f"{100 * a:.0f} / {100 * b:.1f}" for a, b in each.shares] if each.shares else ["no table"]
            )
            table.add_row(f"{file} {lang}", name, f"{each.same}+{each.different}", f"{each.auc:.3f}", *cells)
    return table


def main() -> None:
    """Read the command line, measure each encoder in its own process, print."""
    parser = argparse.ArgumentParser(description="Measure encoders side by side.")
    shipped = [ROOT / "semcache-data/models" / name for name in ("all-MiniLM-L6-v2", "multilingual-e5-small")]
    parser.add_argument("folders", type=Path, nargs="*", default=shipped)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--pairs", type=int, default=400, help="pairs a file for the quality table; 0: none")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument(
        "--torch", action="store_true", help="also the fp32 weights through sentence-transformers"
    )
    args = parser.parse_args()
    console = Console(width=150)
    console.print(f"{platform.processor() or platform.machine()}, load {os.getloadavg()[0]:.1f}")
    results = {}
    spawn = multiprocessing.get_context("spawn")
    for folder in args.folders:
        for kind in ("onnx", "torch") if args.torch else ("onnx",):
            with console.status(f"{folder.name} {kind}"), spawn.Pool(1) as pool:
                job = (folder, kind, args.data, args.pairs, args.runs)
                results[f"{folder} {kind}"] = pool.apply(measure, job)
    console.print(speed_table(results))
    if args.pairs:
        console.print(quality_table(results))


if __name__ == "__main__":
    main()
