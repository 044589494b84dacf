"""Above temperature 0, through the whole engine: answers are distributed as the network says, with a draft or without.

A small random network, whose chances are worked out by transformers' own forward pass; the answers come from the
runner that serves, many choices at once, each with the same draft.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
import torch

from semcache.engine.generation import Delta, GenerationRequest, Sampling
from semcache.engine.scheduling.planning import Limits
from semcache.engine.scheduling.runner import PagedRunner
from tests.engine.drafting.test_judge import chi_square
from tests.engine.tiny import Inbox, ask, tiny_llama, tiny_model

PROMPT = (72, 73, 74)
LENGTH = 3
ALLOWED = 6
TEMPERATURE = 1.4
BATCH = 64

Answer = tuple[int, ...]


def favourites() -> list[int]:
    """The tokens that answers may be made of: likely ones, but for the end."""
    with torch.no_grad():
        row = tiny_llama()(torch.tensor([PROMPT])).logits[0, -1]
    row[-2:] = -torch.inf
    return [int(token) for token in row.topk(ALLOWED).indices]


def chances(tokens: list[int]) -> dict[Answer, float]:
    """The exact probability of every answer."""
    answers = list(product(tokens, repeat=LENGTH))
    fed = torch.tensor([(*PROMPT, *answer) for answer in answers])
    with torch.no_grad():
        logits = tiny_llama()(fed).logits[:, len(PROMPT) - 1 : -1].double()
    rows = torch.log_softmax(logits[:, :, tokens] / TEMPERATURE, dim=-1)
    places = torch.tensor([[tokens.index(token) for token in answer] for answer in answers])
    total = rows.gather(2, places[:, :, None]).sum(dim=(1, 2)).exp()
    return dict(zip(answers, total.tolist(), strict=True))


def drawn(request: GenerationRequest, times: int) -> tuple[Counter[Answer], int, int]:
    """Draw answers; gives them with the draft's tokens that were taken, and were not."""
    model = tiny_model(slots=8192)
    names = {model.vocabulary.name_bytes(token): token for token in range(model.vocabulary_size)}
    runner = PagedRunner(model, limits=Limits(active=BATCH), max_queue=BATCH, checks=True)
    seen: Counter[Answer] = Counter()
    for _ in range(times // BATCH):
        inbox = Inbox()
        runner.submit(request, inbox)
        said: dict[int, Answer] = {}
        for event in inbox.all():
            if not isinstance(event, Delta):
                continue
            for item in event.logprobs:
                said[event.index] = (*said.get(event.index, ()), names[item.chosen.token])
        assert len(said) == BATCH
        seen.update(said.values())
    report = runner.report()
    runner.close()
    return seen, report.accepted_draft, report.rejected_draft


@pytest.mark.parametrize("kind", ["likely", "unlikely", "none"])
@pytest.mark.parametrize("times", [1_920, pytest.param(32_000, marks=pytest.mark.slow)])
def test_answers_are_distributed_as_the_network_says(kind: str, times: int) -> None:
    tokens = favourites()
    expected = chances(tokens)
    assert sum(expected.values()) == pytest.approx(1.0)
    ordered = sorted(expected, key=lambda answer: expected[answer])
    draft = {"likely": ordered[-1], "unlikely": ordered[len(ordered) // 5], "none": ()}[kind]
    bias = tuple((token, 1_000.0) for token in tokens)
    sampling = Sampling(temperature=TEMPERATURE, bias=bias)
    request = ask(PROMPT, sampling=sampling, max_tokens=LENGTH, choices=BATCH, logprobs=0, draft=draft)
    seen, accepted, rejected = drawn(request, times)
    assert chi_square(seen, expected) < 4.5
    assert (accepted + rejected > times / 3) is (kind != "none"), "what was to be tried was not"
    # A likely draft is about as often right as not: what the chances are is said above, token by token.
    if kind == "unlikely":
        assert rejected > 2 * accepted
    elif kind == "likely":
        assert 2 * accepted > rejected
