"""The cost book as CSV in the columns of FOCUS, the FinOps Open Cost and Usage Specification (focus.finops.org).

Columns of version 1.2, with the two names of providers that 1.3 puts in place of `ProviderName` and `PublisherName`;
what FOCUS has no column for begins with `x_`. One row for each key of the book. Money is exact decimal dollars; where
nothing of a row has a price its cost is null (an empty field), which FOCUS does not provide for, and never 0. Pure.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Protocol

from semcache.cost.report import Book, Group, dollars
from semcache.cost_port import DAY, CostKey, CostSums
from semcache.cost_rules import LABELS
from semcache.records import Outcome, SideKind

VERSION = "1.2"
_RISKY = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""A spreadsheet takes what begins so for a formula; the last four are the full-width forms."""
_HITS = frozenset((Outcome.EXACT, Outcome.SEMANTIC))
_SIDES: Mapping[str, str] = {
    SideKind.AUDIT: "Audits of answers from the cache",
    SideKind.JUDGE: "Judgements of answers from the cache",
    SideKind.SUMMARY: "Summaries of long histories",
}

COLUMNS = (
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargeFrequency",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "ConsumedQuantity",
    "ConsumedUnit",
    "ContractedCost",
    "ContractedUnitPrice",
    "EffectiveCost",
    "HostProviderName",
    "InvoiceIssuerName",
    "ListCost",
    "ListUnitPrice",
    "PricingCategory",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "ResourceId",
    "ResourceName",
    "ResourceType",
    "ServiceCategory",
    "ServiceName",
    "ServiceProviderName",
    "ServiceSubcategory",
    "SkuId",
    "SkuMeter",
    "SkuPriceId",
    "SubAccountId",
    "SubAccountName",
    "Tags",
)
COUNTED = (
    "x_Requests",
    "x_Hits",
    "x_UnpricedRequests",
    "x_EstimatedRequests",
    "x_Errors",
    "x_Retries",
    "x_InputTokens",
    "x_CachedInputTokens",
    "x_CacheWriteTokens",
    "x_OutputTokens",
    "x_ReasoningTokens",
    "x_SavedInputTokens",
    "x_SavedOutputTokens",
)
MONEY = (
    "x_AnswerCost",
    "x_EmbeddingCost",
    "x_SideCost",
    "x_CostWithoutCaches",
    "x_SavedByResponseCache",
    "x_SavedByProviderCache",
    "x_SavedByLocalPrefixCache",
    "x_ChargedCost",
)
HEADER = (*COLUMNS, "x_Outcome", *COUNTED, *MONEY)


class Out(Protocol):
    """Where text goes."""

    def write(self, text: str, /) -> object:
        """Take some."""
        ...


def write_focus(book: Book, out: Out, *, header: bool = True) -> int:
    """Write the header, unless it is there already, and one row a key, sorted; gives the number of rows.

    Lines end as RFC 4180 says: open the file with `newline=""`.
    """
    writer = csv.writer(out, lineterminator="\r\n")
    if header:
        writer.writerow(HEADER)
    count = 0
    for row in focus_rows(book):
        writer.writerow([row[name] for name in HEADER])
        count += 1
    return count


def focus_rows(book: Book) -> Iterator[dict[str, str]]:
    """Give the rows, sorted by key; "" is null."""
    for key in sorted(book):
        told = book[key]
        yield {**_charge(key, told), **_counted(key, told), **_money(told)}


def _charge(key: CostKey, told: CostSums) -> dict[str, str]:
    group = Group((), told, 0)
    starts, ends = _day(key.day), _day(key.day + 1)
    month, after = _month(key.day)
    provider = text(key.backend) or ("semcache engine" if key.is_local else "semcache cache")
    tokens = told.input + told.output
    spent = _dollars(group.spent)
    listed = None if group.has_no_price else told.cost + told.by_provider + told.by_local + group.beside
    return {
        "BilledCost": spent,
        "BillingAccountId": text(key.tenant),
        "BillingAccountName": text(key.tenant),
        "BillingCurrency": "USD",
        "BillingPeriodStart": month,
        "BillingPeriodEnd": after,
        "ChargeCategory": "Usage",
        "ChargeClass": "",
        "ChargeDescription": _description(key),
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodStart": starts,
        "ChargePeriodEnd": ends,
        "ConsumedQuantity": str(tokens),
        "ConsumedUnit": "Tokens",
        "ContractedCost": spent,
        "ContractedUnitPrice": "",
        "EffectiveCost": spent,
        "HostProviderName": provider,
        "InvoiceIssuerName": provider,
        "ListCost": _dollars(listed),
        "ListUnitPrice": "",  # a row holds tokens of several prices: input, cached, written, output
        "PricingCategory": "Standard",
        "PricingQuantity": str(tokens),
        "PricingUnit": "Tokens",
        "ProviderName": provider,
        "PublisherName": provider,
        "ResourceId": text(key.model),
        "ResourceName": text(key.model),
        "ResourceType": "Model",
        "ServiceCategory": "AI and Machine Learning",
        "ServiceName": "LLM inference",
        "ServiceProviderName": provider,
        "ServiceSubcategory": "Generative AI",
        "SkuId": text(key.model),
        "SkuMeter": "Tokens",
        "SkuPriceId": "",
        "SubAccountId": text(key.key_name),
        "SubAccountName": text(key.key_name),
        "Tags": _tags(key),
        "x_Outcome": text(key.outcome),
    }


def _counted(key: CostKey, told: CostSums) -> dict[str, str]:
    counts = (
        told.requests,
        told.requests if key.outcome in _HITS else 0,
        told.unpriced,
        told.estimated,
        told.errors,
        told.retries,
        told.input,
        told.cached,
        told.written,
        told.output,
        told.reasoning,
        told.saved_input,
        told.saved_output,
    )
    return dict(zip(COUNTED, map(str, counts), strict=True))


def _money(told: CostSums) -> dict[str, str]:
    group = Group((), told, 0)
    amounts = (
        group.paid,
        told.embedding,
        told.side,
        group.without_caches,
        group.by_response,
        group.by_provider,
        group.by_local,
        told.charged,
    )
    return dict(zip(MONEY, map(_dollars, amounts), strict=True))


def _description(key: CostKey) -> str:
    side = _SIDES.get(key.outcome)
    if side is not None:
        return side
    if key.outcome in _HITS:
        return "Answers from the response cache"
    where = "the local engine" if key.is_local else "the provider"
    return f"Answers from {where}"


def _tags(key: CostKey) -> str:
    """Give the labels as FOCUS writes tags: a JSON object; null without any."""
    values = (key.project, key.environment, key.business_line, key.task)
    given = {name: _clean(value) for name, value in zip(LABELS, values, strict=True) if value}
    return json.dumps(given, ensure_ascii=False) if given else ""


def text(value: str) -> str:
    """Make a name from outside safe in a cell: what a spreadsheet would take for a formula is quoted by `'`."""
    clean = _clean(value)
    return f"'{clean}" if clean.lstrip(" ").startswith(_RISKY) else clean


def _clean(value: str) -> str:
    """Replace what UTF-8 cannot hold, and controls, by the sign for what cannot be shown."""
    if value.isascii() and value.isprintable():
        return value
    whole = value.encode("utf-8", "replace").decode()
    return "".join("\ufffd" if ord(char) < 32 or ord(char) == 127 else char for char in whole)


def _dollars(micro: int | None) -> str:
    return "" if micro is None else dollars(micro)


@lru_cache(maxsize=1024)
def _day(day: int) -> str:
    return datetime.fromtimestamp(day * DAY, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@lru_cache(maxsize=1024)
def _month(day: int) -> tuple[str, str]:
    start = datetime.fromtimestamp(day * DAY, UTC).replace(day=1)
    after = (start + timedelta(days=32)).replace(day=1)
    return start.strftime("%Y-%m-%dT%H:%M:%SZ"), after.strftime("%Y-%m-%dT%H:%M:%SZ")
