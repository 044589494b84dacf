"""The model that ships: SmolLM2-135M-Instruct, against transformers' own decoding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import torch
from transformers import AutoModelForCausalLM

from semcache.engine.chat import ChatTemplate
from semcache.engine.generation import Delta, Finished, FinishReason
from semcache.engine.model.loading import LoadedModel, Settings, load_model
from semcache.engine.scheduling.runner import PagedRunner
from semcache.engine.schema import parse_chat
from tests.engine.tiny import Inbox, ask


@pytest.fixture(scope="module")
def smol(real_folder: Path) -> LoadedModel:
    return load_model(real_folder, Settings(kv_bytes=400 << 20), lambda _: None)


@pytest.fixture(scope="module")
def runner(smol: LoadedModel) -> Iterator[PagedRunner]:
    found = PagedRunner(smol, checks=True)
    yield found
    found.close()


def prompt(smol: LoadedModel, text: str) -> tuple[int, ...]:
    body = {"model": "local", "messages": [{"role": "user", "content": text}]}
    return ChatTemplate(smol.tokenizer).tokens(parse_chat(orjson.dumps(body)))


QUESTIONS = [
    "What is the capital of France?",
    "Write one sentence about 😀 and 日本語.",
    "List three colours, one a line.",
    "Repeat these words: " + "alpha beta gamma " * 30,
]


def test_greedy_tokens_are_those_of_transformers_generate(
    smol: LoadedModel, runner: PagedRunner, real_folder: Path
) -> None:
    network: Any = AutoModelForCausalLM.from_pretrained(real_folder, dtype=torch.float32).eval()
    inboxes = []
    for question in QUESTIONS:  # all at once: neighbours must not matter
        inboxes.append(Inbox())
        runner.submit(ask(prompt(smol, question), max_tokens=8, logprobs=0), inboxes[-1])
    for question, inbox in zip(QUESTIONS, inboxes, strict=True):
        ids = torch.tensor([prompt(smol, question)])
        new = network.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=8, do_sample=False, pad_token_id=0
        )[0, ids.shape[1] :].tolist()
        said = [
            item.chosen.token for event in inbox.all() if isinstance(event, Delta) for item in event.logprobs
        ]
        assert said == [smol.vocabulary.name_bytes(token) for token in new if token not in smol.ends]


def test_it_answers_a_question_and_stops_by_itself(smol: LoadedModel, runner: PagedRunner) -> None:
    inbox = Inbox()
    runner.submit(ask(prompt(smol, QUESTIONS[0]), max_tokens=40), inbox)
    events = inbox.all()
    assert "Paris" in "".join(event.text for event in events if isinstance(event, Delta))
    assert Finished(0, FinishReason.STOP) in events


def test_what_the_folder_says_of_itself(smol: LoadedModel) -> None:
    assert smol.context == 8192
    assert smol.tokenizer.eos_token_id in smol.ends
    assert smol.fingerprint.startswith("fp_")


@pytest.mark.parametrize(
    "text", ["plain", "  spaces  ", "\n\ttabs\r\n", "😀👩‍👩‍👧 é 日本語 العربية", "a" * 300]
)
def test_its_tokens_give_back_the_very_bytes(smol: LoadedModel, text: str) -> None:
    ids = smol.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert b"".join(smol.vocabulary.text_bytes(token) for token in ids) == text.encode()
