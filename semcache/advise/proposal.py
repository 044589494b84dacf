"""A policy file from what was found, with the figures behind each knob as comments. Pure."""

from __future__ import annotations

from semcache.advise.findings import Findings


def policy_text(found: Findings, tenant: str = "default") -> str:
    """Give the text of a policy file that the product's loader takes; starts carefully where little is known."""
    raise NotImplementedError
