"""The request itself, with a stored text as its predicted answer.

The answer is the model's own and streams as any. A backend that does not take predictions gets the plain call, and is
not sent another one for this model for a while. Knows neither policies nor prices.
"""

from __future__ import annotations

from dataclasses import replace

from semcache.calling import call_of
from semcache.journey import Asked, Step
from semcache.ports import Clock, UpstreamReply
from semcache.revising.memory import Refusals

_REFUSED = (400, 422)
_WORD = "prediction"
_IDEMPOTENCY = b"idempotency-key"


async def open_plain(step: Step) -> UpstreamReply:
    """Make the call that the request asks for.

    Raises:
        UpstreamError: as `Generator.open`.
        RequestError: as `Generator.open`.
    """
    return await step.backend.generator.open(call_of(step.asked, step.backend, step.policy, step.snapshot))


async def open_predicted(
    step: Step, text: str, refusals: Refusals, clock: Clock
) -> tuple[UpstreamReply, bool]:
    """Make the call with `text` as its predicted answer; gives the reply and whether that was taken.

    A request that is refused without the prediction as well says nothing about predictions.

    Raises:
        UpstreamError: as `Generator.open`.
        RequestError: as `Generator.open`.
    """
    asked = _predicted(step.asked, text)
    reply = await step.backend.generator.open(call_of(asked, step.backend, step.policy, step.snapshot))
    if reply.status not in _REFUSED:
        return reply, True
    await reply.aclose()
    plain = await open_plain(step)
    if plain.status not in _REFUSED:
        refusals.note(step.backend.generator.name, step.asked.request.model, _WORD, clock.monotonic())
    return plain, False


def refuses_predictions(step: Step, refusals: Refusals, clock: Clock) -> bool:
    """True when the request's backend did not take a prediction for its model not long ago."""
    name, model = step.backend.generator.name, step.asked.request.model
    return refusals.holds(name, model, _WORD, clock.monotonic())


def _predicted(asked: Asked, text: str) -> Asked:
    body = {**asked.request.body, "prediction": {"type": "content", "content": text}}
    # The key names one body; it goes with the plain call, should that be made.
    headers = tuple(pair for pair in asked.headers if pair[0].lower() != _IDEMPOTENCY)
    return replace(asked, request=replace(asked.request, body=body, keys={}), headers=headers)
