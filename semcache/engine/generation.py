"""What is asked of a runner and what comes back: the seam between HTTP and the model.

Knows neither HTTP nor torch. A runner may batch, page or cache as it likes as long as it keeps
the order of events stated at `Event`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from semcache.engine.layers import Layers
from semcache.engine.report import EngineReport, TopPrefix, TreeNode
from semcache.errors import EngineError, RequestError


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn.

    `temperature` 0 is greedy. `top_k` keeps the most probable tokens (0: all), then `top_p` the
    smallest set of them that holds this much of their probability, then `min_p` those at least
    this many times as probable as the best one (0: all). Penalties count only generated tokens.
    `bias` is added to raw logits: pairs of token id and addend.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    bias: tuple[tuple[int, float], ...] = ()
    seed: int | None = None


class Constraint(Protocol):
    """The form that one choice must keep to, token by token. Belongs to one choice; has state.

    End tokens are possible only where the answer may end, and nothing else where it must.
    """

    def apply(self, logits: Any) -> Any:
        """Give float32 [vocab] logits with minus infinity for every token that may not come next.

        Raises:
            EngineError: the form takes more work at this place than a step may cost.
        """
        ...

    def accept(self, token: int) -> None:
        """Take note of the token that was drawn; it must be one that `apply` left possible.

        Raises:
            EngineError: it was none.
        """
        ...

    @property
    def is_complete(self) -> bool:
        """True when the answer so far is whole: it may end here, but may also go on (`1`, `12`)."""
        ...


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One prompt and how to continue it, `choices` times.

    `max_tokens` is a ceiling for each choice; the end of the context is another; 0 computes the
    prompt for later use and answers nothing. `logprobs` is the number of alternatives to report
    for each token (0: only the token itself), or None. `layers` say who may reuse which part.
    `draft` is a guess of the answer, verified in blocks: it changes the cost, never the answer at
    temperature 0, and never its distribution above. `new_constraint` makes the form of one choice.
    `background` requests wait until nothing else is to be done.
    """

    prompt: tuple[int, ...]
    sampling: Sampling
    max_tokens: int
    choices: int = 1
    stop: tuple[str, ...] = ()
    logprobs: int | None = None
    layers: Layers = ()
    draft: tuple[int, ...] = ()
    new_constraint: Callable[[], Constraint] | None = None
    background: bool = False


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
class Reuse:
    """Which prefix a request found computed, so that reuse can be audited.

    `public_tokens` of `tokens` came from the public layer. `age_seconds` is the time since the
    youngest reused part was computed. `digest` names the prefix (hexadecimal, salted), "" for none.
    """

    tokens: int = 0
    public_tokens: int = 0
    age_seconds: float = 0.0
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """Where the time to the first token went, in seconds; the parts follow one another."""

    queue: float = 0.0
    match: float = 0.0
    prefill: float = 0.0
    first_token: float = 0.0


@dataclass(frozen=True, slots=True)
class Done:
    """All choices are complete; tokens as computed (`completion_tokens` includes end tokens).

    `accepted_draft` and `rejected_draft` count tokens of the draft that the model confirmed, and
    that it was asked about in vain. `steps` are forward passes that made answer tokens.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    accepted_draft: int = 0
    rejected_draft: int = 0
    steps: int = 0
    reuse: Reuse = Reuse()
    timing: Timing = Timing()


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


class PlainRunner(Protocol):
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


@runtime_checkable
class Runner(PlainRunner, Protocol):
    """A runner that also tells what it holds. These methods may be called from any thread."""

    def report(self) -> EngineReport:
        """Give counters since the start and present sizes."""
        ...

    def tree_view(self, limit: int) -> tuple[TreeNode, ...]:
        """Give at most `limit` nodes of the prefix tree, parents before children, siblings together."""
        ...

    def top_prefixes(self, count: int) -> tuple[TopPrefix, ...]:
        """Give the `count` prefixes most worth keeping (frequency x length), best first."""
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
