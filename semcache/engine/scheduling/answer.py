"""One answer to a prompt: from rows of logits to tokens, text and the end.

Knows the sampler and the assembly of text, not slots, passes or other requests.
"""

from __future__ import annotations

import torch
from torch import Tensor

from semcache.engine import sampling
from semcache.engine.drafting.draft import Draft
from semcache.engine.generation import (
    Delta,
    Event,
    Finished,
    FinishReason,
    GenerationRequest,
    TokenChance,
    TokenLogprob,
)
from semcache.engine.output import ChoiceOutput
from semcache.engine.scheduling.ports import Model


class Answer:
    """Choice `index` of a request. `last` is the token drawn last, `left` how many more may follow."""

    def __init__(self, index: int, request: GenerationRequest, model: Model, draft: Draft | None) -> None:
        self.index = index
        self.draft = draft
        self.last = -1
        self.left = min(request.max_tokens, model.context - len(request.prompt))
        self.is_finished = False
        self._request = request
        self._model = model
        self._output = ChoiceOutput(model.vocabulary, request.stop)
        self._generator = sampling.new_generator(request.sampling.seed, index)
        self._constraint = None if request.new_constraint is None else request.new_constraint()
        self._counts: Tensor | None = None
        if sampling.needs_counts(request.sampling):
            self._counts = torch.zeros(model.vocabulary_size, dtype=torch.int32)

    def propose(self, limit: int) -> tuple[int, ...]:
        """Guess at most `limit` tokens to be verified in one pass; none without a draft."""
        room = min(limit, self.left - 1)
        if self.draft is None or room < 1:
            return ()
        return self.draft.propose(room)

    def accept(self, logits: Tensor) -> list[Event]:
        """Draw a token from float32 [vocab] logits and say what it adds.

        Raises:
            EngineError: the logits cannot be used, or the form that was asked for is stuck.
        """
        sampling.check(logits)
        chances = sampling.distribution(logits, self._request.sampling, self._counts, self._constraint)
        token = chances.draw(self._generator)
        self.last = token
        self.left -= 1
        if token in self._model.ends:
            return self._finish(FinishReason.STOP)
        self._note(token)
        text, logprobs, stopped = self._output.accept(token, self._logprob(logits, token))
        events = self._delta(text, logprobs)
        if stopped:
            return events + self._end(FinishReason.STOP)
        if self.left <= 0:
            return events + self._finish(FinishReason.LENGTH)
        return events

    def _note(self, token: int) -> None:
        if self._counts is not None:
            self._counts[token] += 1
        if self._constraint is not None:
            self._constraint.accept(token)
        if self.draft is not None:
            self.draft.observe(token)

    def _logprob(self, logits: Tensor, token: int) -> TokenLogprob | None:
        if self._request.logprobs is None:
            return None
        found = sampling.chances(logits, token, self._request.logprobs)
        name = self._model.vocabulary.name_bytes
        return TokenLogprob(
            TokenChance(name(token), found.chosen),
            tuple(TokenChance(name(other), value) for other, value in found.top),
        )

    def _delta(self, text: str, logprobs: tuple[TokenLogprob, ...]) -> list[Event]:
        return [Delta(self.index, text, logprobs)] if text or logprobs else []

    def _finish(self, reason: FinishReason) -> list[Event]:
        return self._delta(*self._output.finish()) + self._end(reason)

    def _end(self, reason: FinishReason) -> list[Event]:
        self.is_finished = True
        return [Finished(self.index, reason)]
