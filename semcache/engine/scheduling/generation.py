"""A request that runs: what its choices have in common, and the account it gives at the end.

Not the seam to HTTP, which is `engine.generation`. Pure bookkeeping.
"""

from __future__ import annotations

from semcache.engine.generation import Done, Reuse
from semcache.engine.layers import Layers
from semcache.engine.prefix.handles import Handle
from semcache.engine.scheduling.job import Job


class Generation:
    """`number` grows with the time of admission. `open` counts choices that are not finished."""

    def __init__(self, job: Job, number: int, layers: Layers) -> None:
        self.job = job
        self.request = job.request
        self.number = number
        self.layers = layers
        self.open = job.request.choices
        self.is_over = False
        self.generated = 0
        self.cached = 0
        self.accepted = 0
        self.rejected = 0
        self.steps = 0
        self._step_seen = -1
        self._public_cached = 0
        self._born = 0.0
        self._digest = ""

    def found(self, start: int, hold: Handle) -> None:
        """Note that the tokens from `start` to the end of `hold` need not be computed."""
        self.cached += hold.length - start
        self._public_cached += max(hold.public_length - start, 0)
        self._born = max(self._born, hold.youngest)
        self._digest = hold.digest.hex()

    def made(self, tokens: int, step: int) -> None:
        """Note that tokens of the answer came out of pass number `step`."""
        self.generated += tokens
        if step != self._step_seen:
            self._step_seen = step
            self.steps += 1

    def done(self, now: float) -> Done:
        """Give the account."""
        age = max(now - self._born, 0.0) if self.cached else 0.0
        return Done(
            prompt_tokens=len(self.request.prompt),
            completion_tokens=self.generated,
            cached_tokens=self.cached,
            accepted_draft=self.accepted,
            rejected_draft=self.rejected,
            steps=self.steps,
            reuse=Reuse(self.cached, self._public_cached, age, self._digest),
            timing=self.job.timing(),
        )
