"""A loaded engine: chat bodies in, generation requests out, under the limits of model and operator.

Knows the runner only by its port; no HTTP and no torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from semcache.engine.chat import ChatTemplate
from semcache.engine.fields import Prediction, ResponseFormat
from semcache.engine.generation import Constraint, GenerationRequest, PlainRunner, Runner, Sampling
from semcache.engine.layers import Layers
from semcache.engine.ownership import layers_of
from semcache.engine.plain import Reporting
from semcache.engine.schema import ChatBody, unsupported
from semcache.errors import RequestError


class FormMaker(Protocol):
    """Turns a wanted output form into the constraint of each choice."""

    def maker(self, asked: ResponseFormat | None) -> Callable[[], Constraint] | None:
        """Give what makes a constraint; None for plain text.

        Raises:
            RequestError: the form cannot be kept to (400), or too many are being prepared (503).
        """
        ...


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where a request says nothing; `max_tokens` may still be cut by the context."""

    temperature: float = 1.0
    max_tokens: int = 512


@dataclass(frozen=True, slots=True)
class Engine:
    """Everything needed to answer. `context` is in tokens, prompt and answer together.

    Without `forms`, an output form that a request asks for is refused.
    """

    template: ChatTemplate
    runner: PlainRunner
    context: int
    vocabulary_size: int
    fingerprint: str
    defaults: Defaults = Defaults()
    forms: FormMaker | None = None

    @property
    def reporter(self) -> Runner:
        """Give the runner as one that tells what it holds."""
        return self.runner if isinstance(self.runner, Runner) else Reporting(self.runner)

    def prepare(self, body: ChatBody) -> GenerationRequest:
        """Turn a checked body into a request; blocks while it cuts the text into tokens.

        An asked-for length beyond the context is no error: the answer ends there with `length`.

        Raises:
            RequestError: 400: the prompt leaves no room in the context, content that is no text,
                a conversation that the template refuses, an output form that cannot be kept to,
                or a bias for a token that is none.
        """
        prompt = self.template.tokens(body)
        self._check_length(prompt)
        asked = body.max_completion_tokens or body.max_tokens or self.defaults.max_tokens
        return GenerationRequest(
            prompt=prompt,
            sampling=self._sampling(body),
            max_tokens=min(asked, self.context - len(prompt)),
            choices=body.n or 1,
            stop=_stops(body),
            logprobs=(body.top_logprobs or 0) if body.logprobs else None,
            layers=self._layers(body, prompt, answered=True),
            draft=self._draft(body, prompt),
            new_constraint=self._form(body.response_format),
        )

    def prepare_warm(self, body: ChatBody) -> GenerationRequest:
        """Turn a body into a request that computes its messages for later ones and answers nothing.

        The prompt ends with the last message, so that it is a prefix of whatever follows it.

        Raises:
            RequestError: as `prepare`.
        """
        prompt = self.template.tokens(body, opening=False)
        self._check_length(prompt)
        layers = self._layers(body, prompt, answered=False)
        return GenerationRequest(prompt, Sampling(0.0), 0, layers=layers, background=True)

    def _check_length(self, prompt: tuple[int, ...]) -> None:
        if len(prompt) >= self.context:
            raise RequestError(
                f"This model's maximum context length is {self.context} tokens, prompt and answer together; "
                f"the messages alone are {len(prompt)} tokens.",
                code="context_length_exceeded",
                param="messages",
            )

    def _layers(self, body: ChatBody, prompt: tuple[int, ...], *, answered: bool) -> Layers:
        asked = body.prefix_cache
        if asked is None and body.cache_salt is None:
            return ()
        counts = (0, 0) if asked is None else (asked.public_messages, asked.tenant_messages)
        public_end, tenant_end = self.template.borders(body, counts, prompt)
        return layers_of(
            asked,
            body.cache_salt,
            public_end=public_end,
            tenant_end=tenant_end,
            length=len(prompt),
            answered=answered,
        )

    def _draft(self, body: ChatBody, prompt: tuple[int, ...]) -> tuple[int, ...]:
        text = "" if body.prediction is None else _predicted(body.prediction)
        return self.template.continuation(body, prompt, text, self.context) if text else ()

    def _form(self, asked: ResponseFormat | None) -> Callable[[], Constraint] | None:
        if asked is None or asked.type == "text":
            return None
        if self.forms is None:
            raise unsupported("response_format")
        return self.forms.maker(asked)

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


def _predicted(prediction: Prediction) -> str:
    """Give the predicted text; parts follow one another without anything between, as an answer would."""
    if isinstance(prediction.content, str):
        return prediction.content
    return "".join(part.text or "" for part in prediction.content)
