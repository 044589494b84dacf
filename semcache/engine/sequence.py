"""One request inside the runner: its prompt being read, then its choices growing a token at a time.

Knows the network and the sampler, not threads, queues or HTTP. Every method is one bounded
piece of work, so that a scheduler can put other requests in between.
"""

from __future__ import annotations

from typing import Any

import torch

from semcache.engine import sampling
from semcache.engine.generation import (
    Delta,
    Event,
    Finished,
    FinishReason,
    GenerationRequest,
    TokenChance,
    TokenLogprob,
)
from semcache.engine.network import LoadedModel
from semcache.engine.output import ChoiceOutput


class Choice:
    """One answer to the prompt: `accept` logits, then `step` until it is finished."""

    def __init__(self, index: int, request: GenerationRequest, model: LoadedModel, state: Any) -> None:
        self._index = index
        self._request = request
        self._model = model
        self._state = state
        self._output = ChoiceOutput(model.vocabulary, request.stop)
        self._generator = sampling.new_generator(request.sampling.seed, index)
        self._counts: torch.Tensor | None = None
        if sampling.needs_counts(request.sampling):
            self._counts = torch.zeros(model.vocabulary_size, dtype=torch.int32)
        self._last = 0
        self._limit = min(request.max_tokens, model.context - len(request.prompt))
        self.generated = 0
        self.is_finished = False

    def step(self) -> list[Event]:
        """Feed the last token and take the next one; gives the events that follow.

        Raises:
            EngineError: the model gave logits that cannot be used.
        """
        return self.accept(self._model.network.feed(self._state, (self._last,)))

    def accept(self, logits: torch.Tensor) -> list[Event]:
        """Draw a token from float32 [vocab] logits and say what it adds.

        Raises:
            EngineError: the logits cannot be used.
        """
        sampling.check(logits)
        adjusted = sampling.adjust(logits, self._request.sampling, self._counts)
        token = sampling.draw(adjusted, self._request.sampling, self._generator)
        self.generated += 1
        self._last = token
        if token in self._model.ends:
            return self._finish(FinishReason.STOP)
        if self._counts is not None:
            self._counts[token] += 1
        text, logprobs, stopped = self._output.accept(token, self._logprob(logits, token))
        events = self._delta(text, logprobs)
        if stopped:
            return events + self._end(FinishReason.STOP)
        if self.generated >= self._limit:
            return events + self._finish(FinishReason.LENGTH)
        return events

    def _logprob(self, logits: torch.Tensor, token: int) -> TokenLogprob | None:
        if self._request.logprobs is None:
            return None
        found = sampling.chances(logits, token, self._request.logprobs)
        name = self._model.vocabulary.name_bytes
        return TokenLogprob(
            TokenChance(name(token), found.chosen),
            tuple(TokenChance(name(other), value) for other, value in found.top),
        )

    def _delta(self, text: str, logprobs: tuple[TokenLogprob, ...]) -> list[Event]:
        return [Delta(self._index, text, logprobs)] if text or logprobs else []

    def _finish(self, reason: FinishReason) -> list[Event]:
        return self._delta(*self._output.finish()) + self._end(reason)

    def _end(self, reason: FinishReason) -> list[Event]:
        self.is_finished = True
        self._state = None  # frees the keys and values now, not when the slowest sibling ends
        return [Finished(self._index, reason)]


class Sequence:
    """A request's prompt, read in pieces of `chunk` tokens, and the choices that come of it."""

    def __init__(self, request: GenerationRequest, model: LoadedModel, chunk: int) -> None:
        self.request = request
        self._model = model
        self._chunk = chunk
        self._state = model.network.begin()
        self._read = 0
        self.choices: list[Choice] = []

    @property
    def is_reading(self) -> bool:
        """True until the whole prompt went through the model."""
        return self._read < len(self.request.prompt)

    @property
    def is_finished(self) -> bool:
        """True when every choice is complete."""
        return not self.is_reading and all(choice.is_finished for choice in self.choices)

    @property
    def generated(self) -> int:
        """Tokens made so far, over all choices."""
        return sum(choice.generated for choice in self.choices)

    def read(self) -> list[Event]:
        """Read the next piece of the prompt; after the last one every choice has its first token.

        Raises:
            EngineError: the model gave logits that cannot be used.
        """
        piece = self.request.prompt[self._read : self._read + self._chunk]
        logits = self._model.network.feed(self._state, piece)
        self._read += len(piece)
        if self.is_reading:
            return []
        events: list[Event] = []
        for index in range(self.request.choices):
            is_last = index == self.request.choices - 1
            state = self._state if is_last else self._model.network.fork(self._state)
            choice = Choice(index, self.request, self._model, state)
            self.choices.append(choice)
            events += choice.accept(logits)
        self._state = None
        return events
