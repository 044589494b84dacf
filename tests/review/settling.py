"""Who settles what, for the tests of review."""

from __future__ import annotations

from semcache.review.access import Reviewer, Role
from semcache.review.looking import etag_of
from semcache.review.verdicts import (
    Verdict,
)
from tests.review.scene import ACME, OPERATOR, Scene

DAY = 86_400.0
ALL = Reviewer("root", Role.OPERATOR, frozenset("*"))


async def settled(at: Scene, verdict: Verdict, who: Reviewer = OPERATOR, name: str = "one") -> str:
    present = await at.now(name)
    done = await at.service.settle(who, ACME, present.id, etag_of(present), verdict, "because")
    return done.etag
