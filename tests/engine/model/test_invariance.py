"""The promise: bits of logits and of keys and values depend on the tokens alone."""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from semcache.engine.forward import Piece
from semcache.engine.model.llama import LlamaNetwork
from semcache.engine.runs import Run
from tests.engine.model.arrange import Ground, kv_of, piece, prompt, straight, tiny_network

FAMILIES = ("llama", "llama, one KV head each", "llama, many heads to one", "qwen3")


@pytest.fixture(scope="module", params=FAMILIES)
def network(request: pytest.FixtureRequest) -> LlamaNetwork:
    return tiny_network(request.param, slots=16384)


class Story:
    """Several sequences that share prefixes in a random tree, computed in random cuts, runs and batches."""

    def __init__(self, network: LlamaNetwork, seed: int) -> None:
        self.network = network
        self.random = random.Random(seed)
        self.ground = Ground(network.slots, self.random)
        self.sequences: list[tuple[tuple[int, ...], list[Run], int]] = []
        self.logits: list[dict[int, Tensor]] = []

    def grow(self, tokens: tuple[int, ...], runs: list[Run], depth: int) -> None:
        """Extend a shared prefix, compute it once, and let several sequences go on from it."""
        choice = self.random
        count = choice.choice((1, 5, 40, 128, 130, 200))
        more = prompt(count, choice.randrange(10**6))
        own = runs + self.ground.scattered(count)
        rows = self._compute([(tokens + more, own, len(tokens))])[0]
        if depth == 0:
            self.sequences.append((tokens + more, own, len(tokens)))
            self.logits.append(rows)
            return
        for _ in range(choice.choice((1, 2, 3))):
            self.grow(tokens + more, own, depth - 1)

    def decode(self, steps: int) -> None:
        """Let all sequences go on together, several tokens at a time for some."""
        for _ in range(steps):
            work = []
            for number, (tokens, runs, _) in enumerate(self.sequences):
                count = self.random.choice((1, 1, 1, 2, 7))
                grown = (
                    tokens + prompt(count, self.random.randrange(10**6)),
                    runs + self.ground.scattered(count),
                    len(tokens),
                )
                self.sequences[number] = grown
                work.append(grown)
            for rows, more in zip(self.logits, self._compute(work), strict=True):
                rows.update(more)

    def _compute(self, work: list[tuple[tuple[int, ...], list[Run], int]]) -> list[dict[int, Tensor]]:
        """Compute all new tokens in passes over random subsets with random cuts."""
        at = [start for _, _, start in work]
        found: list[dict[int, Tensor]] = [{} for _ in work]
        while waiting := [n for n, (tokens, _, _) in enumerate(work) if at[n] < len(tokens)]:
            chosen = self.random.sample(waiting, self.random.randint(1, len(waiting)))
            pieces: list[Piece] = []
            for n in chosen:
                tokens, runs, _ = work[n]
                high = min(len(tokens), at[n] + self.random.choice((1, 2, 3, 11, 64, 200)))
                pieces.append(piece(tokens, at[n], high, runs))
            for n, one, logits in zip(chosen, pieces, self.network.forward(pieces), strict=True):
                found[n].update({one.position + row: line for row, line in enumerate(logits)})
                at[n] += len(one.tokens)
        return found


def check_story(network: LlamaNetwork, seed: int, depth: int = 2, steps: int = 3) -> int:
    """Tell a story and compare every sequence of it with the same tokens computed at once; give the rows compared."""
    story = Story(network, seed)
    story.grow((), [], depth)
    story.decode(steps)
    compared = 0
    for (tokens, runs, _), rows in zip(story.sequences, story.logits, strict=True):
        kv = kv_of(network, runs)
        start = story.ground.straight(len(tokens))[0].start
        expected = straight(network, tokens, start)
        assert torch.equal(kv, kv_of(network, [Run(start, len(tokens))]))
        for position, row in rows.items():
            assert torch.equal(row, expected[position])
            compared += 1
    return compared


@pytest.mark.parametrize("seed", range(8))
def test_bits_do_not_depend_on_cuts_runs_or_neighbours(network: LlamaNetwork, seed: int) -> None:
    assert check_story(network, seed) > 0


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ten_thousand_rows(network: LlamaNetwork) -> None:
    compared, seed = 0, 1000
    while compared < 10_000:
        compared += check_story(network, seed, steps=6)
        seed += 1


def test_decoding_token_by_token_is_reading_at_once(network: LlamaNetwork) -> None:
    tokens = prompt(70)
    runs = [Run(5000, 70)]
    rows = [network.forward([piece(tokens, at, at + 1, runs)])[0] for at in range(70)]
    assert torch.equal(torch.cat(rows), straight(network, tokens))
