"""Which way a near answer may help with a request: by policy, backend and what the request asks for. Pure.

Knows no prices and no tallies: whether it pays, and whether the domain may, is asked elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from semcache.core import Draft, Mode
from semcache.decide.decision import is_revised
from semcache.decide.reasons import Reason, Veto
from semcache.journey import Backend, Step
from semcache.review_rules import DraftWay

_UNLIKE = (Veto.LANGUAGE.value, Veto.UNREAD.value, Veto.PAYLOAD.value)
"""Where these stand against an answer it says nothing about the question."""
_NOT_WITH_PREDICTIONS = (
    "prediction",
    "logprobs",
    "top_logprobs",
    "tools",
    "functions",
    "max_completion_tokens",
    "audio",
)
"""Fields that OpenAI's API refuses beside `prediction` (its reference for predicted outputs)."""


@dataclass(frozen=True, slots=True)
class Declined:
    """No draft; `reason` is a closed word."""

    reason: str


def way_of(step: Step, draft: Draft, *, refused: bool) -> DraftWay | Declined:
    """Choose the way of a draft.

    Args:
        step: the request, with its policy and backend.
        draft: what was found near it.
        refused: its backend refused a prediction for this model not long ago.
    """
    forbidden = _forbidden(step, draft)
    if forbidden is not None:
        return forbidden
    way, backend, body = step.policy.drafts.way, step.backend, step.asked.request.body
    match way:
        case DraftWay.OFF:
            return Declined("off")
        case DraftWay.REVISE:
            return _revisable(draft)
        case DraftWay.LOSSLESS if not is_engine(backend):
            return Declined("unsupported")
    if is_engine(backend):
        return DraftWay.LOSSLESS if _only_one(body) else Declined("unsupported")
    own = step.asked.request.native is None
    if backend.predicts and own and not refused and takes_prediction(body):
        return DraftWay.PREDICTION
    return _revisable(draft) if way is DraftWay.AUTO else Declined("unsupported")


def _revisable(draft: Draft) -> DraftWay | Declined:
    """Say whether a draft may be revised, where nothing better helps.

    Not where only the evidence stands against it: what the backend says freely is how a domain learns. And not what
    was itself revised, unless a human has looked at it since: errors would add up.
    """
    if draft.reasons == (Reason.RISK.value,):
        return Declined("learning")
    if is_revised(draft.entry):
        return Declined("revised")
    return DraftWay.REVISE


def is_engine(backend: Backend) -> bool:
    """True for the local engine, whose predictions change how fast an answer comes and nothing else."""
    return backend.prefixes is not None


def takes_prediction(body: Mapping[str, Any]) -> bool:
    """True when nothing in a body forbids a prediction beside it."""
    if not _only_one(body) or any(body.get(name) for name in _NOT_WITH_PREDICTIONS):
        return False
    if body.get("modalities") not in (None, ["text"]):
        return False
    return not any(_above_zero(body.get(name)) for name in ("presence_penalty", "frequency_penalty"))


def _forbidden(step: Step, draft: Draft) -> Declined | None:
    if step.policy.mode is not Mode.SEMANTIC:
        return Declined("shadow" if step.policy.mode is Mode.SHADOW else "mode")
    if step.asked.directives.mode in ("exact", "off") or step.asked.directives.no_read:
        return Declined("mode")
    if step.asked.request.exact_only is not None or step.asked.raw_body is not None:
        return Declined("unsupported")
    return next((Declined(word) for word in _UNLIKE if word in draft.reasons), None)


def _only_one(body: Mapping[str, Any]) -> bool:
    return body.get("n") in (None, 1) and body.get("prediction") is None


def _above_zero(value: Any) -> bool:
    return isinstance(value, int | float) and value > 0
