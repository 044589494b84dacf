"""Fits what judges whole chats, and writes it with its figures.

    OMP_NUM_THREADS=1 .venv/bin/python -m scripts.verifier.chats [--data DIR] [--out DIR] [--pairs FILE.jsonl] [--dry]

Trains on chats written here (`data/`), on nothing that is for measuring. Figures are of scenes that the model in question has not
seen. `--pairs` writes the pairs for other tools. Deterministic for given files.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from scripts.verifier.chats.fitting import (
    FILES,
    Labelled,
    Vectors,
    cases,
    drops,
    line_of,
    small_talk,
    unseen,
)
from scripts.verifier.chats.growing import arrays_of
from scripts.verifier.chats.scenes import Pair, all_pairs, as_row
from scripts.verifier.rows import ROOT, Bench
from semcache.decide.context.comparing import FREE, NAMES, RISING
from semcache.decide.context.dropping import DROPPING
from semcache.decide.context.judge import ChatJudge
from semcache.decide.verify.forest import Forest, forest_of
from semcache.decide.verify.verifier import open_verifier

WEIGHTS = ROOT / "semcache" / "decide" / "context" / "weights"
_DROPS = 1.0
_NO_FOREST = Forest(*(np.zeros((1, 1), kind) for kind in (np.int16, np.float32, np.int16, np.int16, np.float32)), 0.0, np.zeros((1, 2), np.float32), 0)  # fmt: skip


def grow(data: Labelled) -> HistGradientBoostingClassifier:
    """Fit the forest over pairs of chats; good pairs and traps weigh the same."""
    weight = np.where(data.yes, (~data.yes).sum() / data.yes.sum(), 1.0)
    signs = [0 if name in FREE else 1 if name in RISING else -1 for name in NAMES]
    return HistGradientBoostingClassifier(
        max_iter=140,
        learning_rate=0.06,
        max_depth=4,
        min_samples_leaf=12,
        l2_regularization=3.0,
        max_features=0.5,
        early_stopping=False,
        monotonic_cst=signs,
        random_state=1,
    ).fit(data.rows, data.yes, sample_weight=weight)


def predicted(data: Labelled, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Fit on some, predict others."""
    found: NDArray[np.float64] = grow(data).predict_proba(rows)[:, 1]
    return found


def odds(data: Labelled, rows: NDArray[np.float32], strength: float) -> NDArray[np.float64]:
    """Fit a line on some, predict others."""
    line = line_of(data, strength)
    found: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-(rows @ line[:-1] + line[-1])))
    return found


def told_by(scores: NDArray[np.float64], yes: NDArray[np.bool_]) -> dict[str, list[float]]:
    """Give, for some cuts, the share of yes and of no above it."""
    return {
        str(cut): [round(float((scores[side] >= cut).mean()), 3) for side in (yes, ~yes)]
        for cut in (0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9)
    }


def by_category(pairs: list[Pair], scores: NDArray[np.float64], cut: float) -> dict[str, list[int]]:
    """Count what is above the cut, category by category."""
    found: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for pair, score in zip(pairs, scores, strict=True):
        name = f"{pair.category} {'good' if pair.same else 'traps'}"
        found[name][0] += bool(score >= cut)
        found[name][1] += 1
    return dict(found)


def main() -> None:
    """Fit, print, write."""
    parser = argparse.ArgumentParser(description="Fits the judge of chats.")
    parser.add_argument("--data", type=Path, default=ROOT / "semcache-data", help="where the models are")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--dry", action="store_true", help="write no weights")
    chosen = parser.parse_args()
    pairs = list(all_pairs(FILES))
    if chosen.pairs:
        chosen.pairs.write_text(
            "".join(json.dumps(as_row(pair), ensure_ascii=False) + "\n" for pair in pairs)
        )
    vectors = Vectors(Bench(chosen.data / "models", chosen.data / "verifier-vectors"))
    talk = small_talk(vectors)
    dropped = drops(talk)
    line = line_of(dropped, _DROPS)
    judge = ChatJudge(open_verifier(), _NO_FOREST, line, talk.by_encoder)
    data, kept = cases([pair for pair in pairs if not _is_whole(pair)], judge, talk, vectors)
    scores = unseen(data, predicted)
    model = grow(data)
    totals = np.array([forest_of(_flat(model)).total(numbers) for numbers in data.rows])
    chances = 1.0 / (1.0 + np.exp(-totals))
    assert np.allclose(chances, model.predict_proba(data.rows)[:, 1], atol=1e-3)
    figures = {
        "dropped": told_by(unseen(dropped, lambda a, b: odds(a, b, _DROPS)), dropped.yes),
        "one case": told_by(scores, data.yes),
        "one case at 0.8": by_category(kept, scores, 0.8),
        "counts": [len(kept), int(data.yes.sum()), len(dropped.yes)],
    }
    print(json.dumps(figures, indent=1))
    if chosen.dry:
        return
    arrays = _flat(model) | {
        "names": np.frombuffer("\n".join((*NAMES, *DROPPING)).encode(), dtype=np.uint8),
        "drops": line,
        **{f"talk_{name}": row for name, row in talk.by_encoder.items()},
    }
    chosen.out.mkdir(exist_ok=True)
    np.savez_compressed(chosen.out / "chats.npz", **arrays)
    (chosen.out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")


def _is_whole(pair: Pair) -> bool:
    return pair.category.startswith(("irrelevant", "bears", "leaning"))


def _flat(model: HistGradientBoostingClassifier) -> dict[str, NDArray[np.generic]]:
    """Give the forest's arrays; sums become probabilities by the logistic curve, in straight steps."""
    sums = np.linspace(-8.0, 8.0, 65)
    curve = np.stack([sums, 1.0 / (1.0 + np.exp(-sums))], axis=1).astype(np.float32)
    return arrays_of(model) | {"knots": curve}


if __name__ == "__main__":
    main()
