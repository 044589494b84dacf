"""Runs any sentence-transformers model: on CUDA, or on the CPU where no ONNX file exists.

torch and sentence-transformers are imported when a model is made, never when this module is: a
serving process on CPU with converted models stays free of them (about 400 MB).
Knows nothing of threads, deadlines, scripts or calibration.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from semcache.core import Vector
from semcache.embed.spec import EncoderSpec
from semcache.embed.vectors import check_text, check_tokens, unit
from semcache.errors import EncoderError

Device = Literal["cpu", "cuda"]

_FALLBACK_WINDOW = 512


def cuda_usable() -> bool:
    """True when this torch build sees a working CUDA device (imports torch)."""
    import torch  # noqa: PLC0415 - see module docstring

    return bool(torch.cuda.is_available())


class SentenceTransformerModel:
    """A sentence-transformers model in fp32, on one device.

    Args:
        source: local folder or hub name.
        device: where it runs; `cpu` uses one thread (two spin against each other and against
            everything else on the machine).
        name: short name for policies; the last part of `source` by default.
        prefix: put before every text; by default the model's own "query" prompt, if it has one.
        max_batch: texts a pass on CUDA; on the CPU always 1 (padding costs more than it saves).
        max_unknown_share: see `OnnxModel`.

    Raises:
        EncoderError: the model cannot be loaded.
    """

    def __init__(
        self,
        source: str,
        device: Device,
        *,
        name: str | None = None,
        prefix: str | None = None,
        max_batch: int = 32,
        max_unknown_share: float = 0.0,
    ) -> None:
        self._model = _load(source, device)
        self._max_batch = max_batch if device == "cuda" else 1
        self._max_unknown_share = max_unknown_share
        self._prefix = _prefix(self._model.prompts) if prefix is None else prefix
        self._overhead = len(self._token_ids(self._prefix.rstrip()))
        self._spec = EncoderSpec(
            name=name or Path(source).name,
            weights=_digest_state(self._model),
            dim=int(self._model.get_embedding_dimension() or 0),
            window=int(self._model.max_seq_length or _FALLBACK_WINDOW),
            pooling="model",
            normalise=True,
            prefix=self._prefix,
            runtime=f"torch-{device}-fp32",
        )

    @property
    def spec(self) -> EncoderSpec:
        """Identity of what is loaded."""
        return self._spec

    @property
    def max_batch(self) -> int:
        """Texts a pass."""
        return self._max_batch

    def embed(self, texts: Sequence[str]) -> list[Vector | EncoderError]:
        """Embed a batch; see `TextModel.embed`. Refused texts do not reach the device."""
        refusals = [self._refusal(text) for text in texts]
        taken = [text for text, refusal in zip(texts, refusals, strict=True) if refusal is None]
        rows = iter(self._encode(taken))
        return [_unit_or_error(next(rows)) if refusal is None else refusal for refusal in refusals]

    def close(self) -> None:
        """Free the weights."""
        del self._model

    def _encode(self, texts: list[str]) -> Any:  # float32 [n, d]
        if not texts:
            return np.empty((0, self._spec.dim), dtype=np.float32)
        return self._model.encode(
            [self._prefix + text for text in texts],
            prompt="",  # ours is in the text already; never add the model's default one
            batch_size=len(texts),
            show_progress_bar=False,
            convert_to_numpy=True,
        )

    def _refusal(self, text: str) -> EncoderError | None:
        try:
            check_text(text, self._spec.window)
            ids = self._token_ids(self._prefix + text)
            unknown = ids.count(self._model.tokenizer.unk_token_id)
            content = len(ids) - self._overhead
            check_tokens(len(ids), self._spec.window, content, unknown, self._max_unknown_share)
        except EncoderError as error:
            return error
        return None

    def _token_ids(self, text: str) -> list[int]:
        # verbose=False: longer than the window is our business, not a warning's.
        return list(self._model.tokenizer(text, truncation=False, verbose=False)["input_ids"])


def _load(source: str, device: Device) -> Any:  # sentence-transformers ships no usable types
    import torch  # noqa: PLC0415 - see module docstring
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - see module docstring

    if device == "cpu":
        torch.set_num_threads(1)
    try:
        model = SentenceTransformer(source, device=device)
    except Exception as error:  # hub, disk, parser and device raise without a common base
        raise EncoderError(f"cannot load encoder {source!r}: {type(error).__name__}") from error
    return model.float().eval()


def _prefix(prompts: Mapping[str, str]) -> str:
    """Both sides of a question pair are questions, so the query prompt goes before each."""
    return prompts.get("query") or ""


def _digest_state(model: Any) -> str:  # a torch Module
    """Hex SHA-256 over parameters and vocabulary as loaded, wherever they came from."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name}{tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().data)
    for piece, number in sorted(model.tokenizer.get_vocab().items(), key=lambda item: item[1]):
        digest.update(f"{number} {piece}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _unit_or_error(row: Any) -> Vector | EncoderError:  # float32 [d]
    try:
        return unit(row)
    except EncoderError as error:
        return error
