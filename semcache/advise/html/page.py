"""The report as one page of HTML: no script, nothing from outside, no words of the log unless somebody asked for them.

What is written comes from `findings` alone and is escaped; the style sheet is part of the page, and a policy in its head lets nothing else in.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from semcache.advise import telling
from semcache.advise.findings import DomainReplay, Findings, LevelAdvice, Shared
from semcache.advise.html import charts
from semcache.advise.html.charts import Part

_MOST_LINT = 20
_MOST_EXAMPLES = 20
_LONGEST = 300
VERDICTS = {"on": "switch on", "shadow": "shadow first", "off": "leave off", "unknown": "not known"}
LEVELS = {
    "exact": "equal requests",
    "meaning": "by meaning",
    "prefix": "computed beginnings (local engine)",
    "provider": "the provider's prompt cache",
}


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure at the head of the page, with what it means, and what makes it uncertain."""

    figure: str
    name: str
    note: str = ""


def page_of(found: Findings, examples: Sequence[str] = ()) -> str:
    """Give the page.

    Args:
        found: what was found; parts that are None are left out.
        examples: texts of the log, shown only because somebody asked for them.
    """
    style = (
        resources.files("semcache.advise.html").joinpath("templates", "page.css").read_text(encoding="utf-8")
    )
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    text = (
        _environment()
        .get_template("page.html")
        .render(
            found=found,
            # The one text that is not escaped: it is ours, and its digest is in the page's own policy.
            style=Markup(style),  # noqa: S704 - a file of this package
            csp=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
            title=_title(found),
            tiles=_tiles(found),
            served=_served(found),
            served_kinds=charts.legend(part for each in _replayed(found) for part in _parts(each)),
            wrong=_wrong(found),
            depth=_shared(found.overlap.by_depth),
            parts=_shared(found.overlap.by_part),
            sizes=_sizes(found),
            advice=_by_domain(found),
            verdicts=VERDICTS,
            levels=LEVELS,
            lint=sorted(found.lint or (), key=lambda each: -each.tokens)[:_MOST_LINT],
            # As it is, for copying: escaped here, so that nothing is done to it there.
            policy=escape(found.advice.policy) if found.advice is not None else "",
            examples=[text[:_LONGEST] for text in examples[:_MOST_EXAMPLES]],
        )
    )
    return text.encode("utf-8", "replace").decode()


@lru_cache(maxsize=1)
def _environment() -> Environment:
    env = Environment(
        loader=PackageLoader("semcache.advise.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_unbroken,
    )
    env.filters.update(
        share=telling.share,
        count=telling.count,
        several=telling.several,
        money=telling.money,
        seconds=telling.seconds,
        size=telling.size,
    )
    return env


def _unbroken(value: object) -> object:
    """Keep a figure and its percent sign on one line; what is marked as ready stays as it is."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return value.replace(" %", "\u00a0%")
    return value


def _title(found: Findings) -> str:
    """Say in one line what a cache would do."""
    advice, worth = found.advice, found.worth
    if advice is None or advice.switch_on is None:
        return "Too little is known to advise on a cache"
    if not advice.switch_on:
        return "A cache of answers is not worth while here"
    if worth is not None and worth.month is not None and worth.month > 0:
        return f"A cache would save {telling.money(worth.month)} a month"
    if worth is not None and worth.total.net is not None and worth.total.net > 0:
        return f"A cache would have saved {telling.money(worth.total.net)} on this log"
    return "A cache is worth while here"


def _tiles(found: Findings) -> list[Tile]:
    tiles = [_hit_tile(found)]
    worth, semantic = found.worth, found.semantic
    if worth is not None:
        per = "a day" if worth.days else "over the whole log"
        net = worth.total.net
        if net is None:
            tokens = telling.count(worth.total.input + worth.total.output)
            tiles.append(Tile(tokens, f"tokens spared {per}", "no hit has a price"))
        else:
            note = f"{telling.share(worth.unpriced)} of the hits have no price" if worth.unpriced else ""
            tiles.append(Tile(telling.money(net), f"saved {per}, audits and vectors paid", note))
        if found.spending.timed:
            tiles.append(Tile(telling.seconds(worth.total.seconds), f"of waiting spared {per}", _wait(found)))
    if semantic is not None and semantic.semantic and semantic.wrong_interval is not None:
        low, high = (end / semantic.semantic for end in semantic.wrong_interval)
        note = f"of {telling.several(semantic.semantic, 'hit')} by meaning, 95 % interval"
        tiles.append(Tile(telling.between(low, high), "expected wrong", note))
    tiles.append(
        Tile(
            telling.share(found.overlap.all.share),
            "of prompt tokens came before",
            "beginnings that earlier prompts share",
        )
    )
    return tiles


def _hit_tile(found: Findings) -> Tile:
    semantic, exact = found.semantic, found.exact
    if semantic is None or not semantic.requests:
        rate = exact.hits / exact.requests if exact.requests else 0.0
        return Tile(telling.share(rate), "exact repeats", "meaning was not replayed")
    note = f"{telling.share(semantic.exact / semantic.requests)} exact, {telling.share(semantic.semantic / semantic.requests)} by meaning"
    if semantic.hit_interval is not None:
        known = exact.hits / exact.requests if exact.requests else 0.0
        note += f"; in all of the log {telling.of_all(*semantic.hit_interval, known)} (95 %)"
    return Tile(telling.share(semantic.hits / semantic.requests), "answered from the cache", note)


def _wait(found: Findings) -> str:
    median = found.spending.seconds_p50
    return "" if median is None else f"an answer took {telling.seconds(median)} in the median"


def _replayed(found: Findings) -> list[DomainReplay]:
    domains = found.semantic.domains if found.semantic is not None else ()
    return sorted((each for each in domains if each.requests), key=lambda each: -each.requests)


def _parts(each: DomainReplay) -> list[Part]:
    # What is kept back is a draft under some policies, else a miss; so it is taken out of the drafts first.
    drafts = max(0, each.drafts - each.would_be) if each.held_back == "draft" else each.drafts
    rest = max(0, each.requests - each.hits - each.would_be - drafts)
    return [
        Part("exact", "equal request", each.exact),
        Part("meaning", "by meaning", each.semantic),
        Part("held", "kept back until proven", each.would_be),
        Part("draft", "near: a draft", drafts),
        Part("miss", "a new answer", rest),
    ]


def _served(found: Findings) -> charts.Stack | None:
    rows = [(each.domain, _parts(each), f"{telling.count(each.requests)}") for each in _replayed(found)]
    return charts.stack(rows, whole=True)


def _wrong(found: Findings) -> charts.Spans | None:
    rows = []
    for each in _replayed(found):
        if each.semantic and each.wrong_interval is not None:
            low, high = (min(1.0, end / each.semantic) for end in each.wrong_interval)
            likely = min(1.0, (each.wrong or 0.0) / each.semantic)
            rows.append((each.domain, low, likely, high, each.budget, f"of {telling.count(each.semantic)}"))
    return charts.spans(rows)


def _shared(groups: Sequence[Shared]) -> charts.Stack | None:
    rows = []
    for each in groups:
        if each.tokens:
            fresh = max(0, each.tokens - each.reused)
            parts = [Part("exact", "tokens that came before", each.reused), Part("miss", "new tokens", fresh)]
            rows.append((each.name, parts, telling.share(each.share)))
    return charts.stack(rows, whole=False)


def _sizes(found: Findings) -> charts.Curve | None:
    answers = found.sizes.answers
    if answers is None:
        return None
    marked = [(each.share, each.items, each.bytes) for each in answers.sizes]
    return charts.curve(answers.curve, marked, answers.item_bytes)


def _by_domain(found: Findings) -> list[tuple[str, list[LevelAdvice]]]:
    """Give the advice by domain, what holds for all of the log last."""
    levels = found.advice.levels if found.advice is not None else ()
    names = dict.fromkeys(each.domain for each in levels)
    order = [name for name in names if name] + ([""] if "" in names else [])
    return [(name, [each for each in levels if each.domain == name]) for name in order]
