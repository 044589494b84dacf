"""Where routes say what became of their calls, before there is somebody who listens."""

from __future__ import annotations

from collections.abc import Sequence

from semcache.routing.route import Heard
from semcache.routing.target import Member


class Ears:
    """Hands on what it hears, once there is somebody.

    Attributes:
        listener: who wants to hear it; None: nobody yet.
        members: the upstreams, for those who want to look at their load.
    """

    def __init__(self) -> None:
        self.listener: Heard | None = None
        self.members: Sequence[Member] = ()

    def routed(self, route: str, upstream: str, result: str) -> None:
        """Hand it on."""
        if self.listener is not None:
            self.listener.routed(route, upstream, result)
