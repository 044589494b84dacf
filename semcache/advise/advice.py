"""Whether to switch reuse on, by domain and level, with the figures that led there. Pure."""

from __future__ import annotations

from semcache.advise.findings import Advice, Findings


def advice_of(found: Findings) -> Advice:
    """Give what to do; `policy` is left empty (see `proposal`)."""
    raise NotImplementedError
