"""A loaded engine: chat bodies in, generation requests out, under the limits of model and operator.

Knows the runner only by its port; no HTTP and no torch.
"""

from __future__ import annotations

from dataclasses import dataclass

from semcache.engine.chat import ChatTemplate
from semcache.engine.generation import GenerationRequest, PlainRunner, Sampling
from semcache.engine.schema import ChatBody, unsupported
from semcache.errors import RequestError


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where a request says nothing; `max_tokens` may still be cut by the context."""

    temperature: float = 1.0
    max_tokens: int = 512


@dataclass(frozen=True, slots=True)
class Engine:
    """Everything needed to answer. `context` is in tokens, prompt and answer together."""

    template: ChatTemplate
    runner: PlainRunner
    context: int
    vocabulary_size: int
    fingerprint: str
    defaults: Defaults = Defaults()

    def prepare(self, body: ChatBody) -> GenerationRequest:
        """Turn a checked body into a request; blocks while it cuts the text into tokens.

        An asked-for length beyond the context is no error: the answer ends there with `length`.

        Raises:
            RequestError: 400: the prompt leaves no room in the context, content that is no text,
                a conversation that the template refuses, or a bias for a token that is none.
        """
        if body.response_format is not None and body.response_format.type != "text":
            raise unsupported("response_format")
        prompt = self.template.tokens(body)
        if len(prompt) >= self.context:
            raise RequestError(
                f"This model's maximum context length is {self.context} tokens, prompt and answer together; "
                f"the messages alone are {len(prompt)} tokens.",
                code="context_length_exceeded",
                param="messages",
            )
        asked = body.max_completion_tokens or body.max_tokens or self.defaults.max_tokens
        return GenerationRequest(
            prompt=prompt,
            sampling=self._sampling(body),
            max_tokens=min(asked, self.context - len(prompt)),
            choices=body.n or 1,
            stop=_stops(body),
            logprobs=(body.top_logprobs or 0) if body.logprobs else None,
        )

    def _sampling(self, body: ChatBody) -> Sampling:
        return Sampling(
            temperature=self.defaults.temperature if body.temperature is None else body.temperature,
            top_p=1.0 if body.top_p is None else body.top_p,
            top_k=max(body.top_k or 0, 0),
            min_p=body.min_p or 0.0,
            presence_penalty=body.presence_penalty or 0.0,
            frequency_penalty=body.frequency_penalty or 0.0,
            bias=tuple((self._token(key), value) for key, value in (body.logit_bias or {}).items()),
            seed=body.seed,
        )

    def _token(self, key: str) -> int:
        if key.isascii() and key.isdigit() and len(key) < 10 and int(key) < self.vocabulary_size:
            return int(key)
        raise RequestError(
            "logit_bias: every key must be the id of a token", code="invalid_value", param="logit_bias"
        )


def _stops(body: ChatBody) -> tuple[str, ...]:
    if body.stop is None:
        return ()
    return (body.stop,) if isinstance(body.stop, str) else tuple(body.stop)
