"""A revised answer before the whole check, with a verifier that is sure of everything."""

from __future__ import annotations

from semcache.core import GateRules, JsonObject
from semcache.decide.revision.check import WantedForm, check
from semcache.decide.revision.flaws import Flaw
from tests.decide.build import policy

NORWAY = "How long may customers in Norway return an order?"
JAPAN = "How long may customers in Japan return an order?"
OLD = "Customers in Norway may return an order within 30 days."
NEW = "Customers in Japan may return an order within 14 days."


class Sure:
    """A verifier that takes any two questions for one."""

    def score(self, asked: str, stored: str, similarity: float) -> float | None:
        return 1.0


def against(
    new: str,
    *,
    asked: str = JAPAN,
    stored: str = NORWAY,
    old: str = OLD,
    rules: GateRules | None = None,
    form: JsonObject | None = None,
) -> tuple[Flaw, ...]:
    sure = policy(verifier=True, gate=rules or GateRules())
    return check(sure, asked, stored, old, new, 0.93, Sure(), WantedForm(form))
