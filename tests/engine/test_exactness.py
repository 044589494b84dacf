"""The promise of the prefix cache, on the model that ships: the same answer whatever was computed before.

Every prompt is answered alone with nothing cached: its truth. Then it is asked again in company:
prefixes cached, in batches that form by chance, after eviction, with so little memory that answers
are interrupted and computed again, with drafts, under several owners. Tokens and the bits of their
log probabilities must be those of the truth.
"""

from __future__ import annotations

import queue
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from semcache.engine.forward import Exactness, Network, Piece
from semcache.engine.generation import (
    Delta,
    Done,
    Event,
    Failed,
    Finished,
    GenerationRequest,
    Sampling,
    TokenLogprob,
)
from semcache.engine.layers import PUBLIC, Layer, Owner
from semcache.engine.model.loading import LoadedModel, Settings, load_model
from semcache.engine.report import EngineReport
from semcache.engine.runs import Run
from semcache.engine.scheduling.planning import Limits
from semcache.engine.scheduling.pool import Keeping
from semcache.engine.scheduling.runner import PagedRunner

GREEDY = Sampling(temperature=0.0)
DRAWN = Sampling(temperature=0.9, top_p=0.95, frequency_penalty=0.3, seed=11)
PATIENCE = 120.0
TALK = 11
"""Tokens of a long answer."""

TIE = 1e-3
"""Logits nearer than this may change places with the order of a sum; their size is about 20."""

HEADS = (
    "You are a helpful assistant of a small library. Be brief.",
    "You translate what you are told into plain English.",
    "You are a careful engineer. Say what you do not know.",
)
MIDDLES = (
    " The library opens at nine and closes at six.",
    " Members may borrow ten books for four weeks.",
    " The bridge was built in 1931 out of steel and stone.",
    " Water boils at a lower temperature on a mountain.",
)
QUESTIONS = (
    " When may I come", " How long may I keep a film", " What is it made of", " Why is that so", " Who built it",
    " What does a member do", " Is that much", " Tell me more",
)  # fmt: skip
WORDS = (
    " today",
    " please",
    " Anna",
    " Berlin",
    " seven",
    " rain",
    " old",
    " perhaps",
    " never",
    " green",
    " of",
    " the",
)


Chance = tuple[bytes, float, tuple[tuple[bytes, float], ...]]


@dataclass(frozen=True, slots=True)
class Said:
    """An answer, choice by choice: tokens as bytes, their log probabilities and those of two others, exactly."""

    tokens: tuple[tuple[Chance, ...], ...]
    done: Done


def chance(found: TokenLogprob) -> Chance:
    """Say the same in tuples."""
    others = tuple((other.token, other.logprob) for other in found.alternatives)
    return found.chosen.token, found.chosen.logprob, others


class Narrow:
    """The same network with fewer slots, so that one model serves pools of several sizes."""

    def __init__(self, network: Network, slots: int) -> None:
        self._network = network
        self.slots = slots
        self.bytes_per_slot = network.bytes_per_slot

    @property
    def exactness(self) -> Exactness:
        return self._network.exactness

    def forward(self, pieces: Sequence[Piece]) -> list[Tensor]:
        assert all(run.end <= self.slots for piece in pieces for run in piece.runs)
        return self._network.forward(pieces)

    def clear(self, runs: Sequence[Run]) -> None:
        self._network.clear(runs)

    def read(self, run: Run) -> Tensor:
        return self._network.read(run)

    def write(self, run: Run, values: Tensor) -> None:
        self._network.write(run, values)


class Desk:
    """A runner and how one asks it."""

    def __init__(self, model: LoadedModel, slots: int, limits: Limits, keeping: Keeping) -> None:
        network = Narrow(model.network, slots)
        self.slots = slots
        self.runner = PagedRunner(
            replace(model, network=network), limits=limits, keeping=keeping, max_queue=1_000, checks=True
        )

    def ask(self, request: GenerationRequest) -> Callable[[], Said]:
        """Submit; gives what waits for the answer."""
        events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.runner.submit(request, events.put)
        return lambda: self._collect(events)

    @staticmethod
    def _collect(events: queue.SimpleQueue[Event]) -> Said:
        tokens: dict[int, list[Chance]] = {}
        while True:
            match events.get(timeout=PATIENCE):
                case Delta(index=index, logprobs=logprobs):
                    tokens.setdefault(index, []).extend(map(chance, logprobs))
                case Done() as done:
                    return Said(tuple(tuple(tokens[index]) for index in sorted(tokens)), done)
                case Failed(error=error):
                    raise error
                case Finished(index=index):
                    tokens.setdefault(index, [])

    def alone(self, request: GenerationRequest) -> Said:
        """Answer with nothing cached and nobody beside."""
        self.runner.clear()
        said = self.ask(request)()
        assert said.done.cached_tokens == 0
        return said

    def close(self) -> EngineReport:
        """End, with all books in order."""
        self.runner.check_integrity()
        report = self.runner.report()
        assert report.free + report.tree + report.running == report.capacity == self.slots
        assert report.running == 0
        assert report.failures == 0
        self.runner.close()
        return report


Open = Callable[..., Desk]


@pytest.fixture(scope="module")
def smol(real_folder: Path) -> LoadedModel:
    return load_model(real_folder, Settings(kv_bytes=3_000 * 46_080), lambda _: None)


@pytest.fixture(scope="module")
def reference(real_folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(real_folder, dtype=torch.float32).eval()


@pytest.fixture
def open_desk(smol: LoadedModel) -> Iterator[Open]:
    opened: list[Desk] = []

    def begin(slots: int = 3_000, *, host_bytes: int = 0, **limits: int) -> Desk:
        opened.append(Desk(smol, slots, Limits(**limits), Keeping(host_bytes=host_bytes)))
        return opened[-1]

    yield begin
    for desk in opened:
        desk.runner.close()


def prompts(model: LoadedModel, count: int, seed: int, words: int) -> list[GenerationRequest]:
    """Requests whose prompts share heads, heads and middles, whole questions, or nothing; some by owners.

    Most answers are short. Every tenth cannot end before it has outgrown what was reserved for it,
    and its prompt shares nothing.
    """
    rng = random.Random(seed)

    def ids(text: str) -> tuple[int, ...]:
        return tuple(model.tokenizer(text, add_special_tokens=False)["input_ids"])

    requests = []
    for number in range(count):
        head = ids(rng.choice(HEADS))[: rng.choice((5, 100, 100, 100))]
        middle = sum((ids(part) for part in rng.sample(MIDDLES, rng.randint(0, 2))), ())
        tail = ids(rng.choice(QUESTIONS) + "".join(rng.choices(WORDS, k=rng.randint(0, words))) + "?")
        talks = number % 10 == 0
        prompt = (1_000 + number,) * talks + head + middle + tail
        owner = Owner(rng.choice("ab"), rng.choice((b"1", b"2")))
        shared, own = Layer(len(head), PUBLIC), Layer(len(prompt), owner)
        tokens = TALK if talks else rng.randint(1, 3)
        sampling = replace(GREEDY, bias=tuple((end, -100.0) for end in model.ends)) if talks else GREEDY
        layers = rng.choice(((), (shared, own), (own,)))
        requests.append(GenerationRequest(prompt, sampling, tokens, logprobs=2, layers=layers))
    return requests


def in_company(desk: Desk, requests: list[GenerationRequest], rng: random.Random) -> list[Said]:
    """Ask all in a random order, in bursts and with pauses; gives answers in the order of `requests`."""
    waiting: dict[int, Callable[[], Said]] = {}
    for number in rng.sample(range(len(requests)), len(requests)):
        waiting[number] = desk.ask(requests[number])
        if rng.random() < 0.15:
            time.sleep(rng.random() * 0.2)
    return [waiting[number]() for number in range(len(requests))]


def differing(truth: list[Said], found: list[Said]) -> list[int]:
    """Number the answers of which a token or a bit of a log probability differs."""
    return [
        at for at, (one, other) in enumerate(zip(truth, found, strict=True)) if one.tokens != other.tokens
    ]


def with_drafts(
    requests: list[GenerationRequest], drafts: list[tuple[int, ...]], rng: random.Random
) -> list[GenerationRequest]:
    """Give half of the short ones a draft: the answer with a token changed here and there."""
    return [
        replace(
            request, draft=tuple(rng.randrange(2_000) if rng.random() < 0.2 else token for token in draft)
        )
        if rng.random() < 0.5 and request.max_tokens < TALK
        else request
        for request, draft in zip(requests, drafts, strict=True)
    ]


def all_ways(model: LoadedModel, open_desk: Open, requests: list[GenerationRequest], seed: int) -> list[Said]:
    """Answer in every way and compare; gives the truth."""
    rng = random.Random(seed)
    wide = open_desk()
    truth = [wide.alone(request) for request in requests]

    wide.runner.clear()
    assert differing(truth, in_company(wide, requests, rng)) == [], "with the cache"
    few = rng.sample(range(len(requests)), len(requests) // 5)
    warm = in_company(wide, [requests[at] for at in few], rng)
    assert differing([truth[at] for at in few], warm) == [], "all of it cached"
    assert all(said.done.cached_tokens == said.done.prompt_tokens - 1 for said in warm)
    report = wide.close()
    assert report.cached > report.prompt // 10, "the cache was hardly used"

    # Those with long answers come first, and find room for their prompts, not for their answers.
    talkers = [at for at, request in enumerate(requests) if request.max_tokens == TALK][:4]
    room = sum(len(requests[at].prompt) + 2 for at in talkers)
    narrow = open_desk(slots=room, chunk=24, budget=64, tail=1, active=6)
    waiting = [narrow.ask(requests[at]) for at in talkers]
    assert differing([truth[at] for at in talkers], [said() for said in waiting]) == [], "after interruptions"
    assert narrow.runner.report().preemptions > 0, "nobody was interrupted"
    drafted = with_drafts(requests, [token_ids(model, said) for said in truth], rng)
    assert differing(truth, in_company(narrow, drafted, rng)) == [], "after eviction"
    report = narrow.close()
    assert sum(tokens for _, tokens in report.evictions) > 2 * narrow.slots, "hardly anything was evicted"
    assert report.accepted_draft > 0
    assert report.rejected_draft > 0
    return truth


def token_ids(model: LoadedModel, said: Said) -> tuple[int, ...]:
    """Turn tokens as bytes back into ids."""
    names = {model.vocabulary.name_bytes(token): token for token in range(model.vocabulary_size)}
    return tuple(names[token] for token, _, _ in said.tokens[0])


def agrees_with_transformers(
    reference: Any, model: LoadedModel, request: GenerationRequest, said: Said
) -> bool | None:
    """Compare with greedy decoding by transformers, token by token; None where that is on the edge itself.

    Answers that are kept from ending are no plain greedy ones: their ends are kept from it, too.

    Its kernels sum in another order, so where its two best logits are closer than that may cost,
    either is right, and what follows is another answer.
    """
    given = torch.tensor([request.prompt])
    found = reference.generate(
        given,
        attention_mask=torch.ones_like(given),
        max_new_tokens=request.max_tokens,
        min_new_tokens=request.max_tokens if request.sampling.bias else None,
        do_sample=False,
        pad_token_id=0,
        output_logits=True,
        return_dict_in_generate=True,
    )
    new = found.sequences[0, given.shape[1] :].tolist()
    theirs = [model.vocabulary.name_bytes(token) for token in new if token not in model.ends]
    ours = [token for token, _, _ in said.tokens[0]]
    if ours == theirs:
        return True
    at = next((at for at, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), None)
    best = found.logits[min(len(ours), len(theirs)) if at is None else at][0].topk(2).values
    return None if float(best[0] - best[1]) < TIE else False


@pytest.mark.timeout(600)
def test_prompts_have_one_answer_each(smol: LoadedModel, open_desk: Open, reference: Any) -> None:
    requests = prompts(smol, 24, seed=1, words=3)
    truth = all_ways(smol, open_desk, requests, seed=1)
    for request, said in zip(requests[1:5], truth[1:5], strict=True):
        assert agrees_with_transformers(reference, smol, request, said)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("seed", range(10, 20))
def test_five_hundred_prompts_have_one_answer_each(
    smol: LoadedModel, open_desk: Open, reference: Any, seed: int
) -> None:
    requests = prompts(smol, 51, seed, words=15)
    truth = all_ways(smol, open_desk, requests, seed)
    agreement = [
        agrees_with_transformers(reference, smol, request, said)
        for request, said in zip(requests, truth, strict=True)
    ]
    assert False not in agreement
    assert agreement.count(True) >= 48, "nearly all answers are far from a tie"


def test_what_comes_back_from_host_memory_has_its_bits(smol: LoadedModel, open_desk: Open) -> None:
    """Three prompts in a pool with room for one: each pushes the others out, into the second tier."""
    requests = [replace(request, max_tokens=3) for request in prompts(smol, 9, seed=5, words=2)[::3]]
    desk = open_desk(slots=max(len(request.prompt) for request in requests) + 8, host_bytes=1 << 26, tail=4)
    truth = [desk.ask(request)() for request in requests]
    for _ in range(2):
        again = [desk.ask(request)() for request in requests]
        assert differing(truth, again) == []
        assert (
            sum(said.done.cached_tokens for said in again) > sum(len(each.prompt) for each in requests) // 2
        )
    assert desk.close().host_tokens > 0


def test_drawn_answers_are_those_of_their_seed_with_any_draft(smol: LoadedModel, open_desk: Open) -> None:
    """Two choices, drawn one token after the other or confirmed in blocks."""
    desk = open_desk()
    (first,) = prompts(smol, 1, seed=3, words=2)
    request = replace(first, sampling=DRAWN, choices=2, max_tokens=8)
    truth = desk.alone(request)
    plain = replace(request, choices=1)
    said = token_ids(smol, desk.ask(plain)())
    for draft in (said, (*said[:3], 1, 2, *said[4:]), said[2:], (5, 6, 7)):
        assert desk.ask(replace(request, draft=draft))().tokens == truth.tokens
    assert truth.tokens[0] != truth.tokens[1]
    report = desk.close()
    assert report.accepted_draft > 8
    assert report.rejected_draft > 0
