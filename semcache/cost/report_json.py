"""Groups of costs as JSON, the same from the command line and from the admin API. Money is micro-USD, null where unknown. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from semcache.core import JsonObject
from semcache.cost.report import Book, By, Group, day_text, grouped, total


def report_json(book: Book, by: Sequence[By], first: int, last: int) -> JsonObject:
    """Give the total and all groups of the days `first` to `last`."""
    return {
        "unit": "micro_usd",
        "first": day_text(first),
        "last": day_text(last),
        "by": [one.value for one in by],
        "total": group_json(total(book), ()),
        "groups": [group_json(group, by) for group in grouped(book, by)] if by else [],
    }


def group_json(group: Group, by: Sequence[By]) -> JsonObject:
    """Give one group: its names, what was counted, and the money."""
    told = group.sums
    return {
        **{one.value: name for one, name in zip(by, group.names, strict=True)},
        "requests": told.requests,
        "hits": group.hits,
        "hit_ratio": group.hit_ratio,
        "errors": told.errors,
        "retries": told.retries,
        "unpriced": told.unpriced,
        "estimated": told.estimated,
        "tokens": {
            "input": told.input,
            "cached": told.cached,
            "cached_share": group.cached_share,
            "written": told.written,
            "output": told.output,
            "reasoning": told.reasoning,
            "saved_input": told.saved_input,
            "saved_output": told.saved_output,
        },
        "paid": group.paid,
        "without_caches": group.without_caches,
        "saved": {
            "response_cache": group.by_response,
            "provider_cache": group.by_provider,
            "local_prefix": group.by_local,
            "total": group.saved,
            "share": group.saved_share,
        },
        "beside": {"embedding": told.embedding, "side": told.side, "total": group.beside},
        "spent": group.spent,
        "net": group.net,
        "charged": told.charged,
        "seconds": {"served": told.milliseconds / 1000, "saved": told.saved_milliseconds / 1000},
    }
