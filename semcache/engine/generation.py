"""What is asked of a runner and what comes back: the seam between HTTP and the model.

Knows neither HTTP nor torch. A runner may batch, page or cache as it likes as long as it keeps
the order of events stated at `Event`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from semcache.errors import EngineError, RequestError


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn.

    `temperature` 0 is greedy. `top_p` keeps the smallest set of tokens that holds this much
    probability. Penalties count only generated tokens. `bias` is added to raw logits: pairs of
    token id and addend.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    bias: tuple[tuple[int, float], ...] = ()
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One prompt and how to continue it, `choices` times.

    `max_tokens` is a ceiling for each choice; the end of the context is another. `logprobs` is
    the number of alternatives to report for each token (0: only the token itself), or None.
    """

    prompt: tuple[int, ...]
    sampling: Sampling
    max_tokens: int
    choices: int = 1
    stop: tuple[str, ...] = ()
    logprobs: int | None = None


class FinishReason(StrEnum):
    """Why a choice ended, in the words of the protocol."""

    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class TokenChance:
    """A token's bytes and its natural log probability under the model, before any sampling rule."""

    token: bytes
    logprob: float


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """The chosen token and its best alternatives, best first."""

    chosen: TokenChance
    alternatives: tuple[TokenChance, ...] = ()


@dataclass(frozen=True, slots=True)
class Delta:
    """Text that choice `index` grew by; whole characters only, never part of a stop string."""

    index: int
    text: str
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """Choice `index` is complete."""

    index: int
    reason: FinishReason


@dataclass(frozen=True, slots=True)
class Done:
    """All choices are complete; tokens as computed (`completion_tokens` includes end tokens)."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """The generation failed alone; nothing follows."""

    error: EngineError


Event = Delta | Finished | Done | Failed
"""Deltas and one Finished for each choice, interleaved; then exactly one Done. Or, at any point, one Failed."""

Sink = Callable[[Event], None]
"""Takes events on the runner's own thread; must not block and must not raise."""


@dataclass(frozen=True, slots=True)
class RunnerStats:
    """How busy a runner is: choices being decoded, requests that wait, tokens made since the start."""

    active: int
    queued: int
    generated_tokens: int


class Ticket(Protocol):
    """The handle of one submitted generation."""

    def cancel(self) -> None:
        """Give the generation up; no step begins after this, its slot is free when the present one ends. Idempotent."""
        ...


class Runner(Protocol):
    """Something that continues prompts, several at once, on a thread of its own."""

    def submit(self, request: GenerationRequest, sink: Sink) -> Ticket:
        """Queue a generation.

        Raises:
            RequestError: the queue is full (503 `overloaded`, with Retry-After).
            EngineError: the runner is closed or has died.
        """
        ...

    def stats(self) -> RunnerStats:
        """Give present figures."""
        ...

    @property
    def is_alive(self) -> bool:
        """False once the runner can never answer again."""
        ...

    def close(self) -> None:
        """End the thread; whatever was waiting or running is told `Failed`. Idempotent."""
        ...


def overloaded(message: str, retry_after: int) -> RequestError:
    """Build the refusal for a server that is up but cannot take this request now."""
    return RequestError(
        message,
        status=503,
        type="server_error",
        code="overloaded",
        headers=(("retry-after", str(retry_after)),),
    )
