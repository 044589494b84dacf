"""The real model: transformers' own greedy answers, and equal bits at its own sizes."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from semcache.engine.model.llama import LlamaNetwork
from semcache.engine.model.loading import Settings, build
from semcache.engine.modes import Precision
from semcache.engine.runs import Run
from tests.engine.model.arrange import piece, straight
from tests.engine.model.test_invariance import check_story

ASKED = (
    "What is the capital of France?",
    "Count from one to five.",
)


@pytest.fixture(scope="module")
def read(real_folder: Path) -> Callable[[], Any]:
    transformers.logging.disable_progress_bar()

    def model() -> Any:
        found = transformers.AutoModelForCausalLM.from_pretrained(real_folder, dtype=torch.float32)
        return found.eval().requires_grad_(False)

    return model


@pytest.fixture(scope="module")
def network(read: Callable[[], Any]) -> LlamaNetwork:
    found, _ = build(read(), Settings(kv_bytes=1 << 28))
    assert found.exactness.grid == 1
    return found


def greedy(network: LlamaNetwork, tokens: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Read a prompt in two parts, then go on token by token, in slots out of order."""
    runs = [Run(2000, 7), Run(500, len(tokens) + count)]
    network.forward([piece(tokens, 0, 9, runs, 0)])
    [rows] = network.forward([piece(tokens, 9, len(tokens), runs, 1)])
    while True:
        tokens += (int(rows[0].argmax()),)
        count -= 1
        if not count:
            return tokens
        [rows] = network.forward([piece(tokens, len(tokens) - 1, len(tokens), runs)])


@pytest.mark.slow  # in every run: the same through the runner (test_real_model), and logits below
def test_greedy_answers_are_those_of_transformers(
    network: LlamaNetwork, read: Callable[[], Any], real_folder: Path
) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(real_folder)
    model = read()
    for question in ASKED:
        chat = [{"role": "user", "content": question}]
        ids = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
        expected = model.generate(
            torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), max_new_tokens=12, do_sample=False
        )[0].tolist()
        found = greedy(network, tuple(ids), len(expected) - len(ids))
        assert list(found) == expected


def test_logits_and_bits_in_a_few_arrangements(network: LlamaNetwork, read: Callable[[], Any]) -> None:
    choice = random.Random(5)
    tokens = tuple(choice.randrange(49152) for _ in range(150))
    with torch.inference_mode():
        expected = read()(input_ids=torch.tensor([tokens])).logits[0]
    found = straight(network, tokens)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
    runs = [Run(4000, 33), Run(3000, 100), Run(3500, 17)]
    rows = [
        network.forward([piece(tokens, low, high, runs)])[0]
        for low, high in ((0, 131), (131, 132), (132, 150))
    ]
    assert torch.equal(torch.cat(rows), found)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("precision", [Precision.FP32, Precision.INT8])
def test_stories_at_real_sizes(read: Callable[[], Any], precision: Precision) -> None:
    network, _ = build(read(), Settings(kv_bytes=1 << 29, precision=precision))
    assert sum(check_story(network, seed) for seed in range(4)) > 1000
