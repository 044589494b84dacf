"""From a row of logits to the next token: penalties, form, temperature, truncation, draw.

Functions of their arguments only (the generator is the caller's). Logits are float32 [vocab]
on the CPU; nothing here knows a model. Conventions are those of the OpenAI API reference
(penalties subtract from logits) and of "The Curious Case of Neural Text Degeneration"
(nucleus sampling, arXiv 1904.09751, section 3.1).

A token costs exactly one random number, or none when greedy, and which token it becomes depends
on nothing but that number and the distribution. So a seeded choice says the same alone and in a
batch. It also says the same with a draft: a verifier draws each position in turn, and keeps a
draft token as long as the draw gives that very token. For a draft that is a fixed text this is
the acceptance rule of speculative sampling (accept with the model's own probability, else draw
from what is left; arXiv 2211.17192, section 2.3), with the random numbers shared.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import torch
from torch import Tensor

from semcache.engine.generation import Constraint, Sampling
from semcache.errors import EngineError

GREEDY_BELOW = 1e-4
"""Temperatures below this are greedy: dividing by less would overflow float32."""

_FIRST_LOOK = 64
"""How many of the best tokens are looked at before more of them are sorted, which is many times slower."""


@dataclass(frozen=True, slots=True)
class Chances:
    """Natural log probabilities of the model itself: the chosen token, and the best `top` ones."""

    chosen: float
    top: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Distribution:
    """The tokens that may come next, and how probable they are.

    `weights`: float32 [n], proportional to the probabilities. `tokens`: int64 [n], the token of
    each weight, or None when weight i is token i. `is_certain`: greedy, one token.
    """

    weights: Tensor
    tokens: Tensor | None = None
    is_certain: bool = False

    def draw(self, generator: torch.Generator) -> int:
        """Draw a token by inverting the cumulative weights; takes one random number unless greedy."""
        if self.is_certain:
            return self._token(0)
        point = torch.rand(1, generator=generator, dtype=torch.float64)
        cumulative = self.weights.cumsum(0, dtype=torch.float64)
        at = int(torch.searchsorted(cumulative, point * cumulative[-1], right=True))
        if at == cumulative.numel():  # the product was rounded up to the whole sum
            at = int(self.weights.nonzero()[-1])
        return self._token(at)

    def probability(self, token: int) -> float:
        """Give the probability of one token."""
        if self.tokens is None:
            weight = float(self.weights[token])
        else:
            weight = float(self.weights[self.tokens == token].sum())
        return weight / float(self.weights.sum(dtype=torch.float64))

    def _token(self, at: int) -> int:
        return at if self.tokens is None else int(self.tokens[at])


def new_generator(seed: int | None, choice: int) -> torch.Generator:
    """Make the random source of one choice; equal seeds and choice numbers draw equally."""
    generator = torch.Generator()
    start = secrets.randbits(63) if seed is None else (seed + choice * 0x9E3779B97F4A7C15) % (1 << 63)
    generator.manual_seed(start)
    return generator


def check(logits: Tensor) -> None:
    """Refuse a row that no token can be drawn from.

    Raises:
        EngineError: a NaN or +inf, or not one finite value.
    """
    best = logits.max()
    if not torch.isfinite(best):
        raise EngineError("the model gave logits that are not finite")


def adjust(logits: Tensor, sampling: Sampling, counts: Tensor | None) -> Tensor:
    """Apply bias and penalties; `counts` is int32 [vocab], how often each token was generated."""
    if sampling.bias:
        ids = torch.tensor([token for token, _ in sampling.bias])
        addends = torch.tensor([value for _, value in sampling.bias], dtype=logits.dtype)
        logits = logits.index_add(0, ids, addends)
    if counts is not None:
        seen = (counts > 0).to(logits.dtype)
        logits = logits - sampling.presence_penalty * seen - sampling.frequency_penalty * counts
    return logits


def needs_counts(sampling: Sampling) -> bool:
    """Tell whether penalties need the count of generated tokens."""
    return sampling.presence_penalty != 0 or sampling.frequency_penalty != 0


def distribution(
    logits: Tensor,
    sampling: Sampling,
    counts: Tensor | None = None,
    constraint: Constraint | None = None,
) -> Distribution:
    """Say what may come next after a row of the model's own logits, which stay as they are.

    Raises:
        EngineError: the constraint leaves no token, or could not be worked out.
    """
    logits = adjust(logits, sampling, counts)
    if constraint is not None:
        logits = constraint.apply(logits)
    if sampling.temperature < GREEDY_BELOW:
        return Distribution(torch.ones(1), logits.argmax(0, keepdim=True), is_certain=True)
    probabilities = torch.softmax(logits / sampling.temperature, dim=0)
    if 0 < sampling.top_k < probabilities.numel() or sampling.top_p < 1:
        weights, tokens = _nucleus(probabilities, sampling)
    elif sampling.min_p > 0:
        tokens = torch.arange(probabilities.numel())
        weights = probabilities
    else:
        return Distribution(probabilities)
    kept = weights >= sampling.min_p * weights.max()
    return Distribution(weights[kept], tokens[kept])


def draw(logits: Tensor, sampling: Sampling, generator: torch.Generator) -> int:
    """Choose the next token from adjusted logits."""
    plain = Sampling(
        temperature=sampling.temperature, top_p=sampling.top_p, top_k=sampling.top_k, min_p=sampling.min_p
    )
    return distribution(logits, plain).draw(generator)


def _nucleus(probabilities: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """Keep the best `top_k`, of those the fewest that hold `top_p` of their sum; at least the best one.

    Gives weights and tokens, best first. Looks at few tokens first and at all of them only when
    those do not hold enough; the result is the same.
    """
    size = probabilities.numel()
    limit = min(sampling.top_k, size) if sampling.top_k > 0 else size
    if limit < size:  # all of them are needed to know their sum
        values, tokens = _best(probabilities, limit)
        return _head(values, tokens, sampling.top_p * float(values.sum(dtype=torch.float64)))
    if size > _FIRST_LOOK:
        values, tokens = _best(probabilities, _FIRST_LOOK)
        if _holds(values, sampling.top_p):
            return _head(values, tokens, sampling.top_p)
    # All tokens below this together are less than what may be left out.
    tokens = (probabilities >= (1 - sampling.top_p) / size).nonzero()[:, 0]
    values, order = probabilities[tokens].sort(descending=True, stable=True)
    if _holds(values, sampling.top_p):
        return _head(values, tokens[order], sampling.top_p)
    values, tokens = probabilities.sort(descending=True, stable=True)
    return _head(values, tokens, sampling.top_p)


def _holds(values: Tensor, enough: float) -> bool:
    return float(values.sum(dtype=torch.float64)) >= enough


def _head(values: Tensor, tokens: Tensor, enough: float) -> tuple[Tensor, Tensor]:
    """Cut an ordered list behind the token that brings its sum to `enough`."""
    before = values.cumsum(0, dtype=torch.float64) - values
    count = max(int((before < enough).sum()), 1)
    return values[:count], tokens[:count]


def _best(probabilities: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Give the first `count` of a stable descending sort, without sorting the rest.

    The library's own choice of the best leaves open which of several equal ones it takes.
    """
    values, tokens = probabilities.topk(count + 1)
    weakest = values[-2]
    if weakest == values[-1]:
        equal = (probabilities == weakest).nonzero()[:, 0]
        certain = tokens[values > weakest]
        tokens = torch.cat((certain, equal[: count - certain.numel()]))
    else:
        tokens = tokens[:count]
    tokens = tokens.sort().values
    values, order = probabilities[tokens].sort(descending=True, stable=True)
    return values, tokens[order]


def chances(logits: Tensor, token: int, top: int) -> Chances:
    """Give log probabilities from the model's own logits, before bias, penalties and temperature."""
    logs = torch.log_softmax(logits, dim=0)
    if top == 0:
        return Chances(float(logs[token]), ())
    values, ids = logs.topk(min(top, logs.numel()))
    return Chances(float(logs[token]), tuple(zip(ids.tolist(), values.tolist(), strict=True)))
