"""A causal language model from a folder: loading it, and one forward pass over new tokens.

The only place that calls transformers' model classes. Knows nothing of requests or sampling.
CUDA with bfloat16 when there is a device, else CPU with float32 (bfloat16 is emulated, and
many times slower, on processors without the instructions for it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
import transformers
from torch import Tensor

from semcache.engine.fingerprint import fingerprint
from semcache.engine.vocabulary import Vocabulary, read_vocabulary
from semcache.errors import EngineError

Stage = Callable[[str], None]
"""Is told, in a few words, what loading is busy with."""


class Network(Protocol):
    """Forward passes with a past. `State` is opaque to callers and belongs to one sequence."""

    def begin(self) -> Any:
        """Give the state of an empty sequence."""
        ...

    def feed(self, state: Any, tokens: Sequence[int]) -> Tensor:
        """Append tokens to a sequence; give the logits after the last one: float32 [vocab], CPU."""
        ...

    def fork(self, state: Any) -> Any:
        """Give an independent copy of a state."""
        ...


class TransformersNetwork:
    """A transformers causal model behind `Network`; its state is a `DynamicCache`."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._device = model.device

    def begin(self) -> Any:
        """Give an empty cache of the model's own layer kinds."""
        return transformers.DynamicCache(config=self._model.config)

    @torch.inference_mode()
    def feed(self, state: Any, tokens: Sequence[int]) -> Tensor:
        """Run the model over `tokens` (at least one) after what `state` holds."""
        ids = torch.tensor([list(tokens)], device=self._device)
        output = self._model(input_ids=ids, cache=state, use_cache=True, logits_to_keep=1)
        row: Tensor = output.logits[0, -1]
        return row.float().cpu()

    @torch.inference_mode()
    def fork(self, state: Any) -> Any:
        """Copy keys and values layer by layer."""
        copy = self.begin()
        for number, layer in enumerate(state.layers):
            copy.update(layer.keys, layer.values, number)
        return copy


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """Everything that a model folder gives.

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


def load_model(folder: Path, *, threads: int, max_context: int | None, stage: Stage) -> LoadedModel:
    """Load tokenizer and weights of a folder in transformers' layout; never asks a network.

    Raises:
        EngineError: missing or broken files, an unsupported kind of model, or no chat template.
    """
    torch.set_num_threads(threads)
    transformers.logging.disable_progress_bar()  # it would fill a log file with carriage returns
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    try:
        stage("reading the tokenizer")
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        stage("reading the weights")
        model = transformers.AutoModelForCausalLM.from_pretrained(
            str(folder), dtype=dtype, local_files_only=True, use_safetensors=True
        )
        model = model.eval().requires_grad_(False).to(device)
        stage("checking the weights")
        versions = (str(dtype), torch.__version__, transformers.__version__)
        identity = fingerprint(folder, *versions)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        # What transformers raises for a bad folder; its first line names the file, never a prompt.
        first_line = (str(error).splitlines() or ["no reason given"])[0]
        raise EngineError(f"cannot load the model in {folder}: {first_line}") from error
    return assemble(model, tokenizer, max_context=max_context, identity=identity)


def assemble(model: Any, tokenizer: Any, *, max_context: int | None, identity: str) -> LoadedModel:
    """Put a transformers model and its fast tokenizer together.

    Raises:
        EngineError: no chat template, no fast tokenizer, or a tokenizer of an unknown family.
    """
    if not tokenizer.chat_template:
        raise EngineError("the model folder has no chat template: it is not a chat model")
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise EngineError("the model folder has no fast tokenizer (tokenizer.json)")
    own_context = int(model.config.max_position_embeddings)
    return LoadedModel(
        network=TransformersNetwork(model),
        tokenizer=tokenizer,
        vocabulary=read_vocabulary(backend),
        ends=_end_tokens(model, tokenizer),
        context=min(own_context, max_context or own_context),
        vocabulary_size=int(model.config.vocab_size),
        fingerprint=identity,
    )


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Collect end ids from all three places where model folders keep them."""
    ends: set[int] = set()
    for found in (model.generation_config.eos_token_id, model.config.eos_token_id, tokenizer.eos_token_id):
        if isinstance(found, int):
            ends.add(found)
        elif found is not None:
            ends.update(found)
    return frozenset(ends)
