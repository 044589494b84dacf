"""Labelled pairs as rows of numbers: reads pair files, embeds, takes the traits. Vectors are remembered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from semcache.decide.verify.lexicon import read_lexicon
from semcache.decide.verify.traits import NAMES, Lexica, Traits
from semcache.embed.acceptance import calibrate
from semcache.embed.calibration import Scale, find_tables
from semcache.embed.canonical import canonical_text
from semcache.embed.onnx_encoder import OnnxModel
from semcache.embed.script import Lane, lane_of
from semcache.errors import EncoderError

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = ROOT / "semcache" / "decide" / "verify" / "weights"
ENCODERS = {Lane.LATIN: "all-MiniLM-L6-v2", Lane.MULTILINGUAL: "multilingual-e5-small"}


@dataclass(frozen=True)
class Pairs:
    """The pairs of one file: float32 [n, f], bool [n], and for each its category and whether Chinese is in it."""

    name: str
    rows: NDArray[np.float32]
    same: NDArray[np.bool_]
    category: NDArray[np.str_]
    chinese: NDArray[np.bool_]
    texts: tuple[tuple[str, str], ...]

    def only(self, which: NDArray[np.bool_]) -> Pairs:
        """Give some of the pairs."""
        texts = tuple(pair for pair, keep in zip(self.texts, which, strict=True) if keep)
        return Pairs(
            self.name, self.rows[which], self.same[which], self.category[which], self.chinese[which], texts
        )


class Bench:
    """Both encoders, both lexicons, and a folder where vectors are kept between runs."""

    def __init__(self, models: Path, cache: Path, weights: Path = WEIGHTS) -> None:
        self._folders = {lane: models / name for lane, name in ENCODERS.items()}
        self._models: dict[Lane, tuple[OnnxModel, Scale]] = {}
        self._cache = cache
        cache.mkdir(parents=True, exist_ok=True)
        lexica = Lexica(read_lexicon(weights / "lexicon_en.npz"), read_lexicon(weights / "lexicon_zh.npz"))
        self.traits = Traits(lexica)

    def pairs(self, path: Path, limit: int = 0) -> Pairs:
        """Give the rows of a pair file; pairs that no encoder could compare, and equal texts, are left out."""
        lines = path.read_text(encoding="utf-8").splitlines()
        found: list[Mapping[str, Any]] = [json.loads(line) for line in lines if line.strip()]
        if limit:
            found = found[:limit]
        vectors = self._vectors(path, found)
        rows, kept = [], []
        for item in track(found, description=path.stem, transient=True):
            a, b = canonical_text(item["a"]), canonical_text(item["b"])
            one, other = vectors.get(a), vectors.get(b)
            if a == b or one is None or other is None or one[0] != other[0]:
                continue
            similarity = self._loaded(one[0])[1].to_reference(float(one[1] @ other[1]))
            rows.append(self.traits.row(a, b, similarity))
            kept.append((a, b, item))
        words = self.traits.words
        return Pairs(
            path.stem,
            np.stack(rows) if rows else np.zeros((0, len(NAMES)), np.float32),
            np.array([bool(item["same"]) for _, _, item in kept]),
            np.array([str(item.get("category") or item.get("kind") or "") for _, _, item in kept]),
            np.array([words(a).has_han or words(b).has_han for a, b, _ in kept]),
            tuple((a, b) for a, b, _ in kept),
        )

    def _vectors(
        self, path: Path, items: Iterable[Mapping[str, Any]]
    ) -> dict[str, tuple[Lane, NDArray[np.float32]]]:
        texts = sorted({canonical_text(item[side]) for item in items for side in ("a", "b")})
        digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
        kept = self._cache / f"{path.stem}-{digest}.npz"
        if not kept.is_file():
            self._embed(texts, kept, path.stem)
        with np.load(kept) as arrays:
            lanes, rows = arrays["lanes"], arrays["rows"].astype(np.float32)
        order = list(ENCODERS)
        return {
            text: (order[lane], row) for text, lane, row in zip(texts, lanes, rows, strict=True) if lane >= 0
        }

    def _embed(self, texts: list[str], kept: Path, name: str) -> None:
        lanes, rows = [], []
        for text in track(texts, description=f"{name}: vectors", transient=True):
            lane, row = self.encode(text)
            lanes.append(lane)
            rows.append(row)
        np.savez(kept, lanes=np.array(lanes, np.int8), rows=np.stack(rows).astype(np.float16))

    def encode(self, text: str) -> tuple[int, NDArray[np.float32]]:
        """Route as the proxy does: the Latin encoder first for Latin text, else the other."""
        order = list(ENCODERS)
        start = order.index(lane_of(text)) if text.strip() else len(order)
        for at in range(start, len(order)):
            (row,) = self._loaded(order[at])[0].embed([text])
            if not isinstance(row, EncoderError):
                return at, row
            if row.kind != "unknown_script":
                break
        return -1, np.zeros(384, np.float32)

    def on_scale(self, name: str, cosine: float) -> float:
        """Put an encoder's own cosine on the reference scale."""
        lane = next(lane for lane, known in ENCODERS.items() if known == name)
        return self._loaded(lane)[1].to_reference(cosine)

    def _loaded(self, lane: Lane) -> tuple[OnnxModel, Scale]:
        if lane not in self._models:
            folder = self._folders[lane]
            model = OnnxModel(folder)
            scale = calibrate(model, find_tables(model.spec.name, folder)).scale
            if scale is None:
                raise EncoderError(f"no calibration table for {folder.name}")
            self._models[lane] = (model, scale)
        return self._models[lane]
