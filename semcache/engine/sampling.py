"""From a row of logits to the next token: penalties, temperature, nucleus, draw.

Functions of their arguments only (the generator is the caller's). Logits are float32 [vocab]
on the CPU; nothing here knows a model. Conventions are those of the OpenAI API reference
(penalties subtract from logits) and of "The Curious Case of Neural Text Degeneration"
(nucleus sampling, arXiv 1904.09751, section 3.1).
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import torch
from torch import Tensor

from semcache.engine.generation import Sampling
from semcache.errors import EngineError

GREEDY_BELOW = 1e-4
"""Temperatures below this are greedy: dividing by less would overflow float32."""


@dataclass(frozen=True, slots=True)
class Chances:
    """Natural log probabilities of the model itself: the chosen token, and the best `top` ones."""

    chosen: float
    top: tuple[tuple[int, float], ...]


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


def nucleus(probabilities: Tensor, top_p: float) -> Tensor:
    """Zero all but the smallest set of tokens that holds `top_p`; at least the best one stays.

    Gives float32 [vocab], not renormalised.
    """
    ordered, order = probabilities.sort(descending=True, stable=True)
    before = ordered.cumsum(0) - ordered
    ordered = ordered.masked_fill(before >= top_p, 0.0)
    ordered[0] = probabilities[order[0]]
    return torch.zeros_like(probabilities).scatter(0, order, ordered)


def draw(logits: Tensor, sampling: Sampling, generator: torch.Generator) -> int:
    """Choose the next token from adjusted logits."""
    if sampling.temperature < GREEDY_BELOW:
        return int(logits.argmax())
    probabilities = torch.softmax(logits / sampling.temperature, dim=0)
    if sampling.top_p < 1:
        probabilities = nucleus(probabilities, sampling.top_p)
    return int(torch.multinomial(probabilities, 1, generator=generator))


def chances(logits: Tensor, token: int, top: int) -> Chances:
    """Give log probabilities from the model's own logits, before bias, penalties and temperature."""
    logs = torch.log_softmax(logits, dim=0)
    if top == 0:
        return Chances(float(logs[token]), ())
    values, ids = logs.topk(min(top, logs.numel()))
    return Chances(float(logs[token]), tuple(zip(ids.tolist(), values.tolist(), strict=True)))
