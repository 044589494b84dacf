"""Small models for tests: a random Llama, a scripted network, and a byte-level tokenizer for both."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from semcache.engine.chat import ChatTemplate
from semcache.engine.forward import Exactness, Piece
from semcache.engine.generation import Done, Event, Failed, GenerationRequest, Runner, Sampling
from semcache.engine.model.loading import LoadedModel, Settings, assemble
from semcache.engine.runs import Run
from semcache.engine.scheduling.planning import Limits
from semcache.engine.scheduling.runner import PagedRunner
from semcache.engine.service import Defaults, Engine
from semcache.engine.vocabulary import read_vocabulary

TEMPLATE = (
    "{% if tools %}<|im_start|>tools {{ tools | tojson }}<|im_end|>{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for c in m.tool_calls or [] %}[{{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}"
    "<|im_end|>\n{% endfor %}"
    "{% if messages[-1].content == 'refuse me' %}{{ raise_exception('I will not: refuse me') }}{% endif %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
END = "<|im_end|>"


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """Every byte is a token; a few words are too, so that tokens and bytes are not the same thing."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {char: number for number, char in enumerate(alphabet)}
    merges = [("t", "h"), ("th", "e"), ("a", "n"), ("an", "d")]
    for left, right in merges:
        vocab[left + right] = len(vocab)
    raw = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.add_special_tokens([AddedToken("<|im_start|>", special=True), AddedToken(END, special=True)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token=END)
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def tiny_llama(seed: int = 0, context: int = 256) -> LlamaForCausalLM:
    size = len(tiny_tokenizer())
    config = LlamaConfig(
        vocab_size=size,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        eos_token_id=size - 1,
        bos_token_id=None,
        pad_token_id=None,
        initializer_range=0.6,  # far enough apart that greedy choices are no near ties
    )
    torch.manual_seed(seed)
    return LlamaForCausalLM(config).eval()


def tiny_model(seed: int = 0, context: int = 256, slots: int = 2048) -> LoadedModel:
    llama = tiny_llama(seed, context)
    config = llama.config
    slot_bytes = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * 4
    return assemble(llama, tiny_tokenizer(), Settings(kv_bytes=slots * slot_bytes), "fp_tiny")


class ScriptedNetwork:
    """Says `script` byte for byte after any prompt, then ends; `before` runs ahead of each sequence's part.

    A slot holds its token, so what a sequence was fed is read from its slots, and tests see it.
    """

    exactness = Exactness()
    bytes_per_slot = 1

    def __init__(
        self,
        script: bytes,
        tokenizer: PreTrainedTokenizerFast,
        before: Callable[[list[int]], None] = lambda _: None,
        slots: int = 4096,
    ) -> None:
        vocabulary = read_vocabulary(tokenizer.backend_tokenizer)
        of_byte = {piece: token for token, piece in enumerate(vocabulary.pieces) if len(piece) == 1}
        self.answer = [of_byte[bytes((byte,))] for byte in script] + [tokenizer.eos_token_id]
        self.slots = slots
        self._size = len(tokenizer)
        self._before = before
        self._tokens = [-1] * slots

    def forward(self, pieces: Sequence[Piece]) -> list[torch.Tensor]:
        return [self._feed(piece) for piece in pieces]

    def clear(self, runs: Sequence[Run]) -> None:
        pass

    def read(self, run: Run) -> torch.Tensor:
        raise NotImplementedError

    def write(self, run: Run, values: torch.Tensor) -> None:
        raise NotImplementedError

    def _feed(self, piece: Piece) -> torch.Tensor:
        slots = [slot for run in piece.runs for slot in range(run.start, run.end)]
        state = [self._tokens[slot] for slot in slots[: piece.position]]
        self._before(state)
        for slot, token in zip(slots[piece.position :], piece.tokens, strict=True):
            self._tokens[slot] = token
        rows = []
        for token in piece.tokens:
            state.append(token)
            logits = torch.zeros(self._size)
            logits[self._next(state)] = 100.0
            rows.append(logits)
        return torch.stack(rows[len(rows) - piece.logits :])

    def _next(self, state: list[int]) -> int:
        """The longest tail of the state that begins the answer tells how much was said."""
        for said in range(min(len(state), len(self.answer) - 1), 0, -1):
            if state[-said:] == self.answer[:said]:
                return self.answer[said]
        return self.answer[0]


def scripted_model(script: str | bytes, context: int = 256, **kwargs: Any) -> LoadedModel:
    tokenizer = tiny_tokenizer()
    data = script.encode() if isinstance(script, str) else script
    return LoadedModel(
        network=ScriptedNetwork(data, tokenizer, **kwargs),
        tokenizer=tokenizer,
        vocabulary=read_vocabulary(tokenizer.backend_tokenizer),
        ends=frozenset({tokenizer.eos_token_id}),
        context=context,
        vocabulary_size=len(tokenizer),
        fingerprint="fp_script",
    )


def runner_of(
    model: LoadedModel, *, max_active: int = 8, chunk: int = 128, max_queue: int = 64
) -> PagedRunner:
    """A runner that compares its books whenever it falls idle."""
    limits = Limits(active=max_active, chunk=chunk, budget=chunk)
    return PagedRunner(model, limits=limits, max_queue=max_queue, checks=True)


def engine_of(model: LoadedModel, runner: Runner, temperature: float = 1.0, max_tokens: int = 64) -> Engine:
    return Engine(
        template=ChatTemplate(model.tokenizer),
        runner=runner,
        context=model.context,
        vocabulary_size=model.vocabulary_size,
        fingerprint=model.fingerprint,
        defaults=Defaults(temperature=temperature, max_tokens=max_tokens),
    )


def ask(prompt: Sequence[int] = (72, 73, 74), **changes: Any) -> GenerationRequest:
    """A greedy request of a few tokens."""
    fields: dict[str, Any] = {"sampling": Sampling(temperature=0.0), "max_tokens": 16, **changes}
    return GenerationRequest(prompt=tuple(prompt), **fields)


class Inbox:
    """A sink that a test can wait on."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Event] = queue.Queue()

    def __call__(self, event: Event) -> None:
        self._queue.put(event)

    def next(self, timeout: float = 20.0) -> Event:
        return self._queue.get(timeout=timeout)

    def all(self) -> list[Event]:
        """Everything up to and with the last event."""
        events = [self.next()]
        while not isinstance(events[-1], Done | Failed):
            events.append(self.next())
        return events

    @property
    def is_empty(self) -> bool:
        return self._queue.empty()
