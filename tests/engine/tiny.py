"""Small models for tests: a random Llama, a scripted network, and a byte-level tokenizer for both."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from semcache.engine.chat import ChatTemplate
from semcache.engine.generation import Done, Event, Failed, GenerationRequest, Runner, Sampling
from semcache.engine.network import LoadedModel, assemble
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


def tiny_model(seed: int = 0, context: int = 256) -> LoadedModel:
    return assemble(tiny_llama(seed, context), tiny_tokenizer(), max_context=None, identity="fp_tiny")


class ScriptedNetwork:
    """Says `script` byte for byte after any prompt, then ends; `before` runs ahead of each pass.

    Its state is the list of tokens it was fed, so that tests can see what was asked of it.
    """

    def __init__(
        self,
        script: bytes,
        tokenizer: PreTrainedTokenizerFast,
        before: Callable[[list[int]], None] = lambda _: None,
    ) -> None:
        vocabulary = read_vocabulary(tokenizer.backend_tokenizer)
        of_byte = {piece: token for token, piece in enumerate(vocabulary.pieces) if len(piece) == 1}
        self.answer = [of_byte[bytes((byte,))] for byte in script] + [tokenizer.eos_token_id]
        self._size = len(tokenizer)
        self._before = before

    def begin(self) -> list[int]:
        return []

    def fork(self, state: list[int]) -> list[int]:
        return list(state)

    def feed(self, state: list[int], tokens: Sequence[int]) -> torch.Tensor:
        self._before(state)
        state.extend(tokens)
        logits = torch.zeros(self._size)
        logits[self._next(state)] = 100.0
        return logits

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
