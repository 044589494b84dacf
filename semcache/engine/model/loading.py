"""From a model's name to a network that is ready: files, weights, checks, identity.

The only place that calls transformers' model classes. Knows nothing of requests or sampling.
CUDA with bfloat16 when there is a device, else CPU with float32 (bfloat16 is emulated, and many
times slower, on processors without the instructions for it).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from torch import Tensor

from semcache.engine.fingerprint import fingerprint
from semcache.engine.forward import Exactness, Network
from semcache.engine.model.exactness import keeps_bits, rows_stand_alone
from semcache.engine.model.linear import LEAST_ROWS, Linear, Plain, RowInt8, SplitInt8, packed
from semcache.engine.model.llama import LlamaNetwork, memory_errors
from semcache.engine.model.norm import NormPlace
from semcache.engine.model.pool import KvPool
from semcache.engine.model.rotary import angles
from semcache.engine.model.selfcheck import compare, reference
from semcache.engine.model.shape import Shape, read_shape
from semcache.engine.model.source import Source, find_source
from semcache.engine.model.weights import Recipe, in_rows, take_weights
from semcache.engine.modes import Mode, Precision
from semcache.engine.vocabulary import Vocabulary, read_vocabulary
from semcache.errors import EngineError

Stage = Callable[[str], None]
"""Is told, in a few words, what loading is busy with."""

GRID = 64
"""Where prompts are cut on machines whose products depend on the number of rows."""

REVISION = "1"
"""Part of every fingerprint: raise it with any change of this package that can change a bit of an answer."""

LEAST_SLOTS = 256

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to load. `threads` of torch, `max_context` in tokens, `kv_bytes` for the pool of keys and values."""

    threads: int = 1
    max_context: int | None = None
    kv_bytes: int = 1 << 30
    precision: Precision = Precision.AUTO
    mode: Mode = Mode.EXACT


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """Everything that a model gives.

    `context` is the largest number of tokens of prompt and answer together. `ends` are the ids
    that finish an answer.
    """

    network: Network
    tokenizer: Any
    vocabulary: Vocabulary
    ends: frozenset[int]
    context: int
    vocabulary_size: int
    fingerprint: str


def load_model(name: str | Path, settings: Settings, stage: Stage) -> LoadedModel:
    """Load a folder in transformers' layout, a GGUF file, or a name of the Hugging Face hub.

    Raises:
        EngineError: missing or broken files, an unsupported kind of model, or no chat template.
    """
    torch.set_num_threads(settings.threads)
    transformers.logging.disable_progress_bar()  # it would fill a log file with carriage returns
    source = find_source(name)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    precision = _resolve(settings.precision, device)
    try:
        tokenizer, model = _read(source, precision, stage)
        stage("checking the weights")
        weights_identity = fingerprint(source.folder, only=source.gguf)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        # What transformers raises for a bad folder; its first line names the file, never a prompt.
        first_line = (str(error).splitlines() or ["no reason given"])[0]
        raise EngineError(f"cannot load the model in {source.folder}: {first_line}") from error
    return assemble(model.to(device), tokenizer, settings, weights_identity, stage)


def assemble(
    model: Any, tokenizer: Any, settings: Settings, identity: str, stage: Stage = lambda _: None
) -> LoadedModel:
    """Put a transformers model and its fast tokenizer together; the model is empty afterwards.

    `identity` names weights, tokenizer and template; settings and versions are added to it.

    Raises:
        EngineError: an unsupported kind of model, too little memory for keys and values, no chat
            template, no fast tokenizer, or a tokenizer of an unknown family.
    """
    if not tokenizer.chat_template:
        raise EngineError("the model folder has no chat template: it is not a chat model")
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise EngineError("the model folder has no fast tokenizer (tokenizer.json)")
    ends = _end_tokens(model, tokenizer)
    own_context = read_shape(model.config).context
    network, kernel = build(model, settings, stage)
    context = min(own_context, settings.max_context or own_context, network.slots)
    return LoadedModel(
        network=network,
        tokenizer=tokenizer,
        vocabulary=read_vocabulary(backend),
        ends=ends,
        context=context,
        vocabulary_size=network.shape.vocabulary,
        fingerprint=_identity(identity, settings, kernel, network.exactness),
    )


def build(model: Any, settings: Settings, stage: Stage = lambda _: None) -> tuple[LlamaNetwork, str]:
    """Turn a transformers causal model into a network over a new pool, check it, and name its kernels.

    Raises:
        EngineError: an unsupported kind of model, or too little memory for keys and values.
    """
    shape = read_shape(model.config)
    precision = _resolve(settings.precision, model.device)
    dtype = torch.bfloat16 if precision is Precision.BF16 else torch.float32
    per_slot = 2 * shape.layers * shape.kv_heads * shape.head_dim * dtype.itemsize
    slots = settings.kv_bytes // per_slot
    if slots < LEAST_SLOTS:
        raise EngineError(
            f"{settings.kv_bytes} bytes for keys and values hold {slots} tokens of {per_slot} bytes"
        )
    expected = reference(model)
    device = model.device
    turns = angles(model.model.rotary_emb, min(shape.context, slots), shape.head_dim).to(device)
    stage("arranging the weights")
    weights = take_weights(model, shape, _recipe(precision, device, settings.mode))
    network = LlamaNetwork(shape, weights, turns, _pool(shape, slots, dtype, device), Exactness())
    stage("comparing with transformers")
    compare(network, expected, precision)
    if settings.mode is Mode.FAST:
        return network.with_exactness(weights, Exactness(is_promised=False)), f"{precision}-fast"
    stage("trying for equal bits")
    # A GPU's libraries choose kernels by shape, in more ways than a short trial could cover.
    if device.type == "cpu" and rows_stand_alone(weights, shape.hidden) and keeps_bits(network):
        return network, f"{precision}-free"
    _log.warning(
        "this machine's products depend on the number of rows: prompts are cut every %d tokens", GRID
    )
    careful = network.with_exactness(in_rows(weights, GRID), Exactness(grid=GRID, shares_generated=False))
    return careful, f"{precision}-grid"


def _pool(shape: Shape, slots: int, dtype: torch.dtype, device: torch.device) -> KvPool:
    try:
        with memory_errors():
            return KvPool(shape, slots, dtype, device)
    except MemoryError as error:
        raise EngineError(f"no memory for the keys and values of {slots} tokens") from error


def _read(source: Source, precision: Precision, stage: Stage) -> tuple[Any, Any]:
    dtype = torch.bfloat16 if precision is Precision.BF16 else torch.float32
    place = str(source.folder)
    if source.gguf is not None:
        stage("reading the tokenizer of the GGUF file (about 20 s)")
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, gguf_file=source.gguf)
        stage("reading the weights of the GGUF file (about 30 s)")
        model = _weights(place, gguf_file=source.gguf, dtype=dtype)
    else:
        stage("reading the tokenizer")
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, local_files_only=True)
        read_shape(transformers.AutoConfig.from_pretrained(place, local_files_only=True))
        stage("reading the weights")
        model = _weights(place, dtype=dtype, local_files_only=True, use_safetensors=True)
    return tokenizer, model.eval().requires_grad_(False)


def _weights(place: str, **options: Any) -> Any:
    """Read a causal model; transformers itself would make up weights that the files lack.

    Raises:
        ValueError: some are missing or have another shape.
    """
    model, found = transformers.AutoModelForCausalLM.from_pretrained(
        place, output_loading_info=True, **options
    )
    lacking = sorted({*found["missing_keys"], *(str(key) for key in found["mismatched_keys"])})
    if lacking:
        raise ValueError(f"{len(lacking)} weights are missing, among them {lacking[0]}")
    return model


def _resolve(precision: Precision, device: torch.device) -> Precision:
    if precision is not Precision.AUTO:
        return precision
    return Precision.BF16 if device.type == "cuda" else Precision.FP32


def _recipe(precision: Precision, device: torch.device, mode: Mode) -> Recipe:
    if precision is Precision.INT8:
        if device.type != "cpu":
            raise EngineError("int8 is for the CPU; a GPU computes in bf16 or fp32")
        return Recipe(RowInt8, SplitInt8, NormPlace.APART)
    if precision is Precision.FP32 and device.type == "cpu":
        return Recipe(packed, packed, NormPlace.FOLDED)
    least = LEAST_ROWS if mode is Mode.EXACT else 1

    def plain(weight: Tensor, bias: Tensor | None) -> Linear:
        return Plain(weight, bias, least)

    # In bf16 a folded weight would be rounded once more, and a GPU has the whole norm as one kernel.
    return Recipe(plain, plain, NormPlace.TORCH)


def _identity(weights: str, settings: Settings, kernel: str, exactness: Exactness) -> str:
    """Add to the identity of the files whatever else changes a bit of an answer."""
    return fingerprint(
        None,
        weights,
        REVISION,
        kernel,
        settings.mode,
        str(settings.threads),
        str(exactness.grid),
        torch.__version__,
        torch.backends.cpu.get_cpu_capability(),
        torch.cuda.get_device_name() if torch.cuda.is_available() else "",
        transformers.__version__,
    )


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Collect end ids from all three places where models keep them."""
    ends: set[int] = set()
    for found in (model.generation_config.eos_token_id, model.config.eos_token_id, tokenizer.eos_token_id):
        if isinstance(found, int):
            ends.add(found)
        elif found is not None:
            ends.update(found)
    return frozenset(ends)
