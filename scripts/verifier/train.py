"""Trains the verifier's forests and writes them with their card.

    .venv/bin/python scripts/verifier/train.py --shared ../shared/data --synth FILE... [--out DIR] [--seed 7]

Trains on the files that may train (adversarial, CheckList, PAWS, PAWS-X, cMedQQ, MedQuAD, RQE) and on generated
pairs (`scripts/verifier/synth`); one forest for pairs without Chinese, one for pairs with. A fifth of
each file, chosen by the digest of its texts, is held out: it stops the training, calibrates the sum to a probability,
and gives the figures of the card. `--measure FILE...` prints what the forests make of files that never train.
Deterministic for given files and seed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rows import ROOT, WEIGHTS, Bench, Pairs
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.isotonic import IsotonicRegression

from semcache.decide.risk.grid import BINS, bin_of
from semcache.decide.verify.forest import Forest, forest_of
from semcache.decide.verify.traits import NAMES

MAY_TRAIN = (
    "adversarial",
    "checklist_en",
    "paws_wiki_en",
    "pawsx_zh",
    "cmedqq_zh",
    "medquad_en",
    "rqe_medical_en",
)
WEIGHT = {"adversarial": 1.0, "checklist_en": 0.7, "paws_wiki_en": 0.5, "pawsx_zh": 0.5, "cmedqq_zh": 0.7,
          "medquad_en": 0.5, "rqe_medical_en": 0.3}  # fmt: skip
"""How much a file counts against the generated pairs (1.0 for all of them together)."""
SYNTH_WEIGHT = 3.0
HELD_OUT = 5
"""One pair in so many is held out."""
RISING = ("similarity", "least_cosine_low", "least_cosine_high", "mean_cosine_low", "mean_cosine_high", "least_same_low",
          "least_same_high", "mean_same_low", "mean_same_high", "phrase", "least_swap")  # fmt: skip
FALLING = ("unlike_low", "unlike_high", "antonym_low", "antonym_high", "digits",
           *(name for name in NAMES if name.startswith("gate_")))  # fmt: skip
KNOTS = 40
TRAP_SHARE = 0.1
"""Declared: of the questions that come to the verifier one in ten needs another answer. Scores are probabilities at this
base rate; a tenant's own evidence says what they are worth on its traffic."""
NEAR = 0.7
"""Least similarity at which the shipped policy asks the verifier."""
LEAST = 0.9
"""Least score that the shipped policy serves: of what counts as evidence in the prior."""
_PRIOR = 2.0
"""Pseudo-pairs at the base rate when a step of the calibration is estimated: no step is ever 0 or 1."""


_GATE = [i for i, name in enumerate(NAMES) if name.startswith("gate_")]


@dataclass(frozen=True)
class Part:
    """Rows with labels and weights."""

    rows: NDArray[np.float32]
    same: NDArray[np.bool_]
    weight: NDArray[np.float64]


def held_out(pairs: Pairs) -> NDArray[np.bool_]:
    """Choose by the digest of the first text, so that all pairs of one text are on one side."""
    return np.array(
        [hashlib.sha256(min(pair).encode()).digest()[0] % HELD_OUT == 0 for pair in pairs.texts], dtype=bool
    )


def parts(sets: Sequence[Pairs], chinese: bool) -> tuple[Part, Part]:
    """Give (training, held out) of all sets in one script."""
    found: tuple[list[Part], list[Part]] = ([], [])
    for pairs in sets:
        mine = pairs.only(pairs.chinese == chinese)
        if not len(mine.same):
            continue
        share = WEIGHT.get(pairs.name, SYNTH_WEIGHT) * 1000.0 / len(mine.same)
        out = held_out(mine)
        for side, which in zip(found, (~out, out), strict=True):
            chosen = mine.only(which)
            side.append(Part(chosen.rows, chosen.same, np.full(len(chosen.same), share)))
    return join(found[0]), join(found[1])


def join(found: Sequence[Part]) -> Part:
    """Put parts together."""
    return Part(
        np.concatenate([p.rows for p in found]),
        np.concatenate([p.same for p in found]),
        np.concatenate([p.weight for p in found]),
    )


def fit(train: Part, seed: int, trees: int) -> dict[str, NDArray[np.generic]]:
    """Fit one forest; gives its arrays without calibration."""
    directions = {**dict.fromkeys(RISING, 1), **dict.fromkeys(FALLING, -1)}
    model = HistGradientBoostingClassifier(
        max_iter=trees,
        learning_rate=0.06,
        max_leaf_nodes=20,
        min_samples_leaf=30,
        l2_regularization=3.0,
        max_features=0.5,
        early_stopping=False,
        monotonic_cst=[directions.get(name, 0) for name in NAMES],
        random_state=seed,
    ).fit(train.rows, train.same, sample_weight=train.weight)
    grown = [stage[0].nodes for stage in model._predictors]  # noqa: SLF001 - the library exports no trees
    width = max(len(nodes) for nodes in grown)
    shape = (len(grown), width)
    arrays: dict[str, NDArray[np.generic]] = {
        "feature": np.full(shape, -1, np.int16),
        "threshold": np.zeros(shape, np.float32),
        "left": np.zeros(shape, np.int16),
        "right": np.zeros(shape, np.int16),
        "value": np.zeros(shape, np.float32),
    }
    for t, nodes in enumerate(grown):
        n = len(nodes)
        inner = nodes["is_leaf"] == 0
        arrays["feature"][t, :n] = np.where(inner, nodes["feature_idx"], -1)
        # Thresholds are between float32 rows, but kept in float64: rounding down keeps each row on its side.
        arrays["threshold"][t, :n] = np.nextafter(
            nodes["num_threshold"].astype(np.float32), np.float32(np.inf)
        )
        arrays["left"][t, :n] = nodes["left"]
        arrays["right"][t, :n] = nodes["right"]
        arrays["value"][t, :n] = np.where(inner, 0.0, nodes["value"])
    arrays["base"] = np.array(float(model._baseline_prediction[0, 0]))  # noqa: SLF001 - as above
    arrays["depth"] = np.array(max(int(nodes["depth"].max()) for nodes in grown) + 1)
    return arrays


def totals(forest: Forest, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Give the sums of many rows."""
    return np.array([forest.total(row) for row in rows])


def asked(held: Part) -> Part:
    """Keep what would come to the verifier, and weigh traps down to the declared share."""
    near = (held.rows[:, 0] >= NEAR) & ~held.rows[:, _GATE].any(axis=1)
    rows, same, weight = held.rows[near], held.same[near], held.weight[near].copy()
    good, traps = weight[same].sum(), weight[~same].sum()
    weight[~same] *= good * TRAP_SHARE / (1.0 - TRAP_SHARE) / max(traps, 1e-9)
    return Part(rows, same, weight / weight.mean())


def calibration(sums: NDArray[np.float64], held: Part) -> NDArray[np.float32]:
    """Give the knots (sum, probability) from held-out pairs: isotonic steps, each shrunk to the base rate."""
    order = np.argsort(sums)
    fitted = IsotonicRegression(y_min=0.0, y_max=1.0).fit_transform(
        sums, held.same, sample_weight=held.weight
    )
    edges = np.quantile(sums[order], np.linspace(0, 1, KNOTS + 1))
    knots = []
    for low, high in pairwise(edges):
        inside = (sums >= low) & (sums <= high)
        count = int(inside.sum())
        if not count:
            continue
        mean = float(np.average(fitted[inside], weights=held.weight[inside]))
        knots.append(
            (float(sums[inside].mean()), (mean * count + _PRIOR * (1.0 - TRAP_SHARE)) / (count + _PRIOR))
        )
    rising = [(x, p + 1e-6 * i) for i, ((x, _), p) in enumerate(zip(knots, _rise(knots), strict=True))]
    return np.array([(x, min(p, 0.9999)) for x, p in rising], dtype=np.float32)


def _rise(knots: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    rising: NDArray[np.float64] = np.maximum.accumulate([p for _, p in knots])
    return rising


def recall_at(scores: NDArray[np.float64], same: NDArray[np.bool_], share: float) -> float:
    """Give the share of good pairs above the score that lets the given share of traps through."""
    traps = np.sort(scores[~same])[::-1]
    good = scores[same]
    if not len(traps) or not len(good):
        return float("nan")
    return float((good > traps[min(int(share * len(traps)), len(traps) - 1)]).mean())


def report(
    title: str, sets: Sequence[Pairs], forests: Mapping[bool, Forest], screen: Console
) -> list[dict[str, Any]]:
    """Print what the forests make of sets: recall at shares of traps, beside that of similarity alone."""
    shown = Table(
        "file", "n", "good", "sim @1/3/5", "forest @1/3/5", ".5 good/trap", ".9 good/trap", title=title
    )
    found = []
    for pairs in sets:
        for chinese in (False, True):
            mine = pairs.only(pairs.chinese == chinese)
            if len(mine.same) < 20:
                continue
            forest = forests[chinese]
            scores = np.array([forest.probability(row) for row in mine.rows])
            similarity = mine.rows[:, 0].astype(np.float64)
            levels = (0.01, 0.03, 0.05)
            figures = {
                "file": pairs.name + (" zh" if chinese else ""),
                "n": len(mine.same),
                "good": int(mine.same.sum()),
                "similarity": [round(recall_at(similarity, mine.same, level), 3) for level in levels],
                "forest": [round(recall_at(scores, mine.same, level), 3) for level in levels],
                **{
                    f"at {cut}": [
                        round(float((scores[mine.same] >= cut).mean()), 3) if mine.same.any() else None,
                        round(float((scores[~mine.same] >= cut).mean()), 3) if (~mine.same).any() else None,
                    ]
                    for cut in (0.5, 0.9)
                },
            }
            found.append(figures)
            shown.add_row(*(str(value) for value in figures.values()))
    screen.print(shown)
    return found


def main() -> None:
    """Train both forests, write them, print figures."""
    parser = argparse.ArgumentParser(description="Trains the verifier.")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--synth", type=Path, nargs="*", default=[])
    parser.add_argument("--measure", type=Path, nargs="*", default=[])
    parser.add_argument("--data", type=Path, default=ROOT / "semcache-data", help="where the models are")
    parser.add_argument("--cache", type=Path, default=ROOT / "semcache-data" / "verifier-vectors")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--limit", type=int, default=0, help="pairs a file at most, for a trial")
    chosen = parser.parse_args()
    screen = Console(width=160)
    bench = Bench(chosen.data / "models", chosen.cache)
    files = [chosen.shared / f"{name}.jsonl" for name in MAY_TRAIN] + chosen.synth
    sets = [bench.pairs(path, chosen.limit) for path in files]
    forests: dict[bool, Forest] = {}
    hits, wrong = np.zeros(BINS), np.zeros(BINS)
    for chinese, name in ((False, "en"), (True, "zh")):
        train, held = parts(sets, chinese)
        arrays = fit(train, chosen.seed, chosen.trees)
        arrays["knots"] = np.zeros((2, 2), np.float32)
        arrays["names"] = np.frombuffer("\n".join(NAMES).encode(), dtype=np.uint8)
        held = asked(held)
        sums = totals(forest_of(arrays), held.rows)
        arrays["knots"] = calibration(sums, held)
        forests[chinese] = forest_of(arrays)
        scores = np.interp(sums, *arrays["knots"].T)
        served = scores >= LEAST
        bins = [bin_of(score) for score in scores[served]]
        np.add.at(hits, bins, held.weight[served])
        np.add.at(wrong, bins, (held.weight * ~held.same)[served])
        np.savez_compressed(chosen.out / f"forest_{name}.npz", **arrays)
        screen.print(
            f"forest_{name}: {len(train.same)} pairs, {len(held.same)} held out, {arrays['feature'].shape} nodes"
        )
    prior = {"hits": hits.tolist(), "wrong": wrong.tolist()}
    (chosen.out / "prior.json").write_text(json.dumps(prior) + "\n")
    held_sets = [pairs.only(held_out(pairs)) for pairs in sets]
    figures = report("held out", held_sets, forests, screen)
    measured = report("never trained on", [bench.pairs(path) for path in chosen.measure], forests, screen)
    (chosen.out / "figures.json").write_text(
        json.dumps({"held out": figures, "measured": measured}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
