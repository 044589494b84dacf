"""Runs a converted encoder with ONNX Runtime on the CPU.

One text a pass on purpose: dynamic int8 scales activations over the whole batch, so a text's
vector would depend on its neighbours in the batch, and padding costs more than it saves
(measured: 4.3 ms a text in batches of 8 against 3.4 ms alone).
Knows nothing of threads, deadlines, scripts or calibration; never imports torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from semcache.core import Vector
from semcache.embed.manifest import Manifest, read_manifest
from semcache.embed.spec import EncoderSpec, digest_files
from semcache.embed.vectors import check_text, check_tokens, mean_pool, unit
from semcache.errors import EncoderError


def onnx_spec(folder: Path) -> EncoderSpec | None:
    """Tell the generation of a converted folder without loading it; None without an ONNX file.

    Raises:
        EncoderError: the folder is broken.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        return None
    encoder = manifest.encoder
    return EncoderSpec(
        name=manifest.name,
        weights=digest_files((folder / encoder.onnx, folder / encoder.tokenizer)),
        dim=encoder.dim,
        window=encoder.window,
        pooling=encoder.pooling,
        normalise=encoder.normalise,
        prefix=encoder.prefix,
        runtime="onnx-cpu",
    )


class OnnxModel:
    """A converted folder, loaded. One intra-op thread; memory goes back after each pass.

    Args:
        folder: what `semcache models fetch` made.
        max_unknown_share: share of unknown tokens in [0, 1] above which a text is refused. The
            default refuses any: two texts that differ only in what the tokenizer does not know
            get the same vector, and no threshold can tell them apart.

    Raises:
        EncoderError: the folder is broken or does not hold what its manifest says.
    """

    max_batch = 1

    def __init__(self, folder: Path, max_unknown_share: float = 0.0) -> None:
        manifest, spec = read_manifest(folder), onnx_spec(folder)
        if manifest is None or spec is None:
            raise EncoderError(f"{folder} is no converted model folder")
        self._spec = spec
        self._section = manifest.encoder
        self._max_unknown_share = max_unknown_share
        self._tokenizer = _open_tokenizer(folder / self._section.tokenizer)
        self._session = _open_session(folder, manifest)
        self._overhead = len(self._tokenizer.encode(self._section.prefix.rstrip()).ids)

    @property
    def spec(self) -> EncoderSpec:
        """Identity of what is loaded."""
        return self._spec

    def embed(self, texts: Sequence[str]) -> list[Vector | EncoderError]:
        """Embed one after another; see `TextModel.embed`."""
        return [self._embed_or_error(text) for text in texts]

    def close(self) -> None:
        """Free session and tokenizer."""
        del self._session
        del self._tokenizer

    def _embed_or_error(self, text: str) -> Vector | EncoderError:
        try:
            return self._embed(text)
        except EncoderError as error:
            return error

    def _embed(self, text: str) -> Vector:
        ids = self._token_ids(text)
        row = np.asarray([ids], dtype=np.int64)
        mask = np.ones_like(row)
        (states,) = self._session.run([self._section.output], self._feeds(row, mask))
        if states.ndim != 3 or states.shape[2] != self._section.dim:
            raise EncoderError(
                f"the model gave shape {states.shape} where [1, s, {self._section.dim}] was due"
            )
        return unit(mean_pool(states, mask)[0] if self._section.pooling == "mean" else states[0, 0])

    def _token_ids(self, text: str) -> list[int]:
        check_text(text, self._section.window)
        ids: list[int] = self._tokenizer.encode(self._section.prefix + text).ids
        unknown = ids.count(self._section.unknown_id) if self._section.unknown_id is not None else 0
        check_tokens(
            len(ids), self._section.window, len(ids) - self._overhead, unknown, self._max_unknown_share
        )
        return ids

    def _feeds(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        every = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        return {name: every[name] for name in self._section.inputs}


def _open_tokenizer(path: Path) -> Any:  # tokenizers ships no types that strict checking accepts
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise EncoderError(f"cannot load tokenizer {path.name}: {type(error).__name__}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # A user who writes "[SEP]" or "</s>" gets ordinary tokens, not the model's control tokens.
    tokenizer.encode_special_tokens = True
    return tokenizer


def _open_session(folder: Path, manifest: Manifest) -> Any:  # onnxruntime ships no types
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Lengths vary with every text: an arena only grows to the longest one, a pattern never repeats.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    path = folder / manifest.encoder.onnx
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime raises a dozen classes with no common base
        raise EncoderError(f"cannot load {path.name}: {type(error).__name__}") from error
    inputs = {item.name for item in session.get_inputs()}
    outputs = {item.name for item in session.get_outputs()}
    if inputs != set(manifest.encoder.inputs) or manifest.encoder.output not in outputs:
        raise EncoderError(f"{path.name} has other inputs {sorted(inputs)} or outputs than its manifest says")
    return session
