"""A million vectors with the neighbourhoods of real questions, and questions to ask them.

From the data sets' English questions, embedded with the shipped encoder (some 14,000 texts), a stored vector is made:

    child = unit(base + s * (x - y))

`base` is a real question, `x` and `y` are two real questions that are among each other's 10 nearest, so `x - y` is a
real difference between two kin questions (another name, another number, another wording) and lies where encoders put
such differences, not anywhere in 384 dimensions. `s` is uniform in [0.2, 1.1], for a quarter of them in [0.02, 0.2]:
near-duplicates. The first copy of every base is the base itself.

Near questions: a stored vector plus the difference of a real pair that asks the same in other words (`same: true` in
the data), of which neither text is among the bases. Far questions: real questions of one data set that the bases have
none of. Random: uniform on the sphere, stored and asked; there everything is equally far, which no encoder does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import faiss
import numpy as np

D = 384
_KIN = 10


@dataclass(frozen=True)
class Base:
    """Embedded texts, float32 [n, 384], unit rows: bases, pairs that ask the same (`one`, `other`), far ones."""

    rows: np.ndarray
    one: np.ndarray
    other: np.ndarray
    far: np.ndarray


def unit(rows: np.ndarray) -> np.ndarray:
    rows = np.asarray(rows, np.float32)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def base(texts: Path, model: Path, cache: Path | None) -> Base:
    """Embed the questions in the folder `texts` with the encoder in the folder `model`; keep them in `cache`."""
    if cache is not None and cache.exists():
        held = np.load(cache)
        return Base(held["rows"], held["one"], held["other"], held["far"])
    # Only here, since it needs the encoder's libraries and the rest does not.
    from semcache.embed.onnx_encoder import OnnxModel  # noqa: PLC0415  # see above

    stored, pairs, far = _texts(texts)
    encoder = OnnxModel(model)

    def embedded(some: list[str]) -> np.ndarray:
        found = [encoder.embed([text])[0] for text in some]
        return np.array([v if isinstance(v, np.ndarray) else np.full(D, np.nan) for v in found], np.float32)

    rows, one, other, away = map(embedded, (stored, [a for a, _ in pairs], [b for _, b in pairs], far))
    whole = np.isfinite(one[:, 0]) & np.isfinite(other[:, 0])
    made = Base(rows[np.isfinite(rows[:, 0])], one[whole], other[whole], away[np.isfinite(away[:, 0])])
    if cache is not None:
        np.savez(cache, rows=made.rows, one=made.one, other=made.other, far=made.far)
    return made


def _texts(folder: Path) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    stored: dict[str, None] = {}
    pairs: list[tuple[str, str]] = []
    far: dict[str, None] = {}
    for path in [*sorted(folder.glob("*_en.jsonl")), folder / "adversarial.jsonl"]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            row = json.loads(line)
            one, other = str(row.get("a") or row.get("text") or ""), str(row.get("b") or "")
            if "medquad" in path.name:
                far[one] = None
            elif row.get("same") is True and other and number % 2:
                pairs.append((one, other))
            else:
                stored.update(dict.fromkeys(text for text in (one, other) if text))
    apart = [(one, other) for one, other in pairs if one not in stored and other not in stored]
    return list(stored), apart, [text for text in far if text and text not in stored]


def grown(base_rows: np.ndarray, n: int, seed: int = 1) -> np.ndarray:
    """Give n vectors made of `base_rows`; see the module."""
    rng = np.random.default_rng(seed)
    _, kin = faiss.knn(base_rows, base_rows, _KIN + 1, metric=faiss.METRIC_INNER_PRODUCT)
    made = np.empty((n, base_rows.shape[1]), np.float32)
    for start in range(0, n, 50_000):
        stop = min(n, start + 50_000)
        count = stop - start
        origin = base_rows[np.arange(start, stop) % len(base_rows)]
        x = rng.integers(len(base_rows), size=count)
        y = kin[x, rng.integers(1, _KIN + 1, size=count)]
        s = np.where(rng.random(count) < 0.25, rng.uniform(0.02, 0.2, count), rng.uniform(0.2, 1.1, count))
        s[np.arange(start, stop) < len(base_rows)] = 0.0
        made[start:stop] = unit(origin + s[:, None].astype(np.float32) * (base_rows[x] - base_rows[y]))
    return made


def near(made: np.ndarray, source: Base, count: int, seed: int = 2) -> np.ndarray:
    """Give questions that ask what a stored one asks in other words."""
    rng = np.random.default_rng(seed)
    origin = made[rng.integers(len(made), size=count)]
    pair = rng.integers(len(source.one), size=count)
    return unit(origin + source.other[pair] - source.one[pair])


def random(n: int, seed: int = 3) -> np.ndarray:
    """Give n vectors uniform on the sphere."""
    rng = np.random.default_rng(seed)
    made = np.empty((n, D), np.float32)
    for start in range(0, n, 50_000):
        stop = min(n, start + 50_000)
        made[start:stop] = unit(rng.standard_normal((stop - start, D), np.float32))
    return made
