"""The report as one page of HTML."""

from __future__ import annotations

from semcache.advise.findings import Findings


def page_of(found: Findings, examples: tuple[str, ...] = ()) -> str:
    """Give the page; `examples` are texts of the log, shown (escaped) only because somebody asked for them."""
    raise NotImplementedError
