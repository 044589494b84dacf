"""Costs, budgets, alarms and prefix findings, as their page shows them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from semcache.cost.report import By, Group, by_day, grouped, money_text, total
from semcache.cost_port import AlarmKind, BudgetState, Cause, CostAlarm, LintFinding
from semcache.cost_rules import BudgetRule, OnHard
from semcache.review.costing import Days
from semcache.review.web.cost_plot import Bars, Lines, cost_bars, reuse_lines
from semcache.review.web.frame import Ui
from semcache.review.web.marks import plain

GROUPINGS = tuple(one for one in By if one is not By.TENANT)
DAYS = (1, 7, 30, 90)
_MOST_GROUPS = 40
_MOST_FINDINGS = 10
_MOST_OVER = 5
_MARKS = (50, 80, 100)
_SAVINGS = ("response", "provider", "local")


@dataclass(frozen=True, slots=True)
class Money:
    """An amount as text; `is_lost` where it is negative, `is_known` False where it has no price."""

    text: str
    is_lost: bool = False
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class Saving:
    """One of the three savings, and its part of what it would have cost."""

    word: str
    money: Money
    share: float | None
    bar: float


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group in a row of the table."""

    name: str
    requests: str
    hits: str
    input: str
    cached: str
    output: str
    unpriced: str
    paid: Money
    savings: tuple[Money, ...]
    without: Money
    net: Money


@dataclass(frozen=True, slots=True)
class BudgetBar:
    """A use against its limit: `at` and `held` are places on a line of 100, `marks` where 50, 80 and 100 % stand."""

    word: str
    used: str
    limit: str
    share: float
    at: float
    held: float
    tone: str
    marks: tuple[int, ...] = _MARKS


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """A budget in its present window."""

    name: str
    window: str
    ends: float
    scope: tuple[str, ...]
    bars: tuple[BudgetBar, ...]
    spent: str
    on_hard: str


@dataclass(frozen=True, slots=True)
class AlarmRow:
    """An alarm; `at` is when it was raised, or ended."""

    kind: str
    is_raised: bool
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class FindingRow:
    """What keeps prompts from being reused, and what to do about it."""

    cause: str
    where: str
    place: str
    sample: str
    seen: str
    tokens: str
    money: Money
    fix: str
    scope: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CostsView:
    """What the page of costs shows."""

    requests: int
    paid: Money
    without: Money
    saved: Money
    saved_share: float | None
    net: Money
    beside: Money
    hit_ratio: float | None
    hits: int
    cached_share: float | None
    cached: int
    input: int
    unpriced: int
    savings: tuple[Saving, ...]
    bars: Bars | None
    lines: Lines | None
    by: str
    rows: tuple[GroupRow, ...]
    more: int
    last: GroupRow | None


def costs_view(found: Days, by: By, ui: Ui) -> CostsView:
    """Lay out what was paid and saved."""
    whole = total(found.book)
    days = by_day(found.book, found.first, found.last)
    groups = grouped(found.book, (by,))
    # Days are best read from the newest on.
    groups = tuple(reversed(groups)) if by is By.DAY else groups
    return CostsView(
        requests=whole.sums.requests,
        paid=_money(whole.paid, ui),
        without=_money(whole.without_caches, ui),
        saved=_money(whole.saved, ui),
        saved_share=whole.saved_share,
        net=_money(whole.net, ui),
        beside=_money(whole.beside, ui),
        hit_ratio=whole.hit_ratio,
        hits=whole.hits,
        cached_share=whole.cached_share,
        cached=whole.sums.cached,
        input=whole.sums.input,
        unpriced=whole.sums.unpriced,
        savings=tuple(_savings(whole, ui)),
        bars=cost_bars(days, lambda name: _day(name, ui), lambda day: _said(day, ui), ui.t.round_money),
        lines=reuse_lines(days, lambda name: _day(name, ui)),
        by=by.value,
        rows=tuple(_row(group, by, ui) for group in groups[:_MOST_GROUPS]),
        more=max(0, len(groups) - _MOST_GROUPS),
        last=_row(whole, by, ui) if len(groups) > 1 else None,
    )


def _savings(whole: Group, ui: Ui) -> Iterator[Saving]:
    amounts = (whole.by_response, whole.by_provider, whole.by_local)
    without = whole.without_caches or 0
    for word, amount in zip(_SAVINGS, amounts, strict=True):
        share = amount / without if amount is not None and without > 0 else None
        yield Saving(word, _money(amount, ui), share, round(100 * min(max(share or 0.0, 0.0), 1.0), 2))


def _row(group: Group, by: By, ui: Ui) -> GroupRow:
    told = group.sums
    return GroupRow(
        name=_named(group.names[0], by, ui) if group.names else "",
        requests=ui.t.number(told.requests),
        hits=ui.t.share(group.hit_ratio),
        input=ui.t.number(told.input),
        cached=ui.t.share(group.cached_share),
        output=ui.t.number(told.output),
        unpriced=ui.t.number(told.unpriced) if told.unpriced else "",
        paid=_money(group.paid, ui),
        savings=tuple(_money(one, ui) for one in (group.by_response, group.by_provider, group.by_local)),
        without=_money(group.without_caches, ui),
        net=_money(group.net, ui),
    )


def _named(name: str, by: By, ui: Ui) -> str:
    if by is By.OUTCOME:
        return ui.t.word("outcome", name)
    if name == "~other":
        return ui.t("costs.other")
    return plain(name) or ui.t("costs.none")


def _money(micro: int | None, ui: Ui) -> Money:
    if micro is None:
        return Money(ui.t("costs.unpriced"), is_known=False)
    return Money(ui.t.money(micro), is_lost=micro < 0)


def _day(name: str, ui: Ui) -> str:
    return ui.t.day(date.fromisoformat(name))


def _said(day: Group, ui: Ui) -> str:
    return ui.t(
        "costs.bar", day=_day(day.names[0], ui), paid=ui.t.money(day.sums.cost), saved=ui.t.money(day.saved)
    )


def budget_rows(states: Iterable[BudgetState], ui: Ui) -> tuple[BudgetRow, ...]:
    """Lay out budgets, those that are used most first."""
    rows = [_budget(state, ui) for state in states]
    return tuple(sorted(rows, key=lambda row: -max((bar.share for bar in row.bars), default=0.0)))


def _budget(state: BudgetState, ui: Ui) -> BudgetRow:
    rule = state.rule
    labels = (f"{ui.t.word('costs.by', name)}: {plain(value)}" for name, value in rule.labels)
    return BudgetRow(
        name=plain(rule.name),
        window=ui.t.word("window", rule.window),
        ends=state.ends,
        scope=(*labels, *map(plain, rule.models), *map(plain, rule.keys)),
        bars=tuple(_bars(state, ui)),
        spent=money_text(state.spent + state.held),
        on_hard=ui.t.word("onhard", then) if (then := _then(rule)) else "",
    )


def _then(rule: BudgetRule) -> str:
    """Name what happens at the limits: beyond a number of requests answers from the cache are refused, too."""
    if rule.hard is None:
        return "" if rule.requests is None else OnHard.REFUSE.value
    if rule.requests is None or rule.on_hard is OnHard.REFUSE:
        return rule.on_hard.value
    return "mixed"


def _bars(state: BudgetState, ui: Ui) -> Iterator[BudgetBar]:
    rule = state.rule
    for word, limit in (("hard", rule.hard), ("soft", rule.soft)):
        if limit is not None:
            money = (state.spent, state.held)
            yield _bar(word, *money, limit, money_text(sum(money)), money_text(limit))
    if rule.requests is not None:
        used, most = ui.t.number(state.requests), ui.t.number(rule.requests)
        yield _bar("requests", state.requests, 0, rule.requests, used, most)


def _bar(word: str, used: int, held: int, limit: int, used_text: str, limit_text: str) -> BudgetBar:
    share = (used + held) / limit if limit > 0 else 1.0
    tone = "bad" if share >= 1 else "warn" if share >= 0.8 else ""
    at = _place(used, limit)
    return BudgetBar(word, used_text, limit_text, share, at, round(_place(used + held, limit) - at, 2), tone)


def _place(value: int, limit: int) -> float:
    return round(100 * min(max(value / limit, 0.0), 1.0), 2) if limit > 0 else 100.0


def alarm_rows(alarms: Sequence[CostAlarm], ui: Ui) -> tuple[AlarmRow, ...]:
    """Lay out alarms: each as it stands now, raised ones first, then some that are over."""
    now: dict[tuple[AlarmKind, str], CostAlarm] = {}
    for alarm in alarms:
        now.setdefault((alarm.kind, alarm.subject), alarm)
    raised = [alarm for alarm in now.values() if alarm.is_raised]
    over = [alarm for alarm in now.values() if not alarm.is_raised][:_MOST_OVER]
    return tuple(_alarm(alarm, ui) for alarm in (*raised, *over))


def _alarm(alarm: CostAlarm, ui: Ui) -> AlarmRow:
    name, about = ui.t(f"alarm.{alarm.kind.value}"), plain(alarm.subject)
    if not alarm.is_raised:
        return AlarmRow(name, alarm.is_raised, about, alarm.at)
    write = ui.t.number if alarm.kind is AlarmKind.PRICE_UNKNOWN else ui.t.share
    said = {"subject": about, "value": write(alarm.value), "limit": write(alarm.limit)}
    text = ui.t(f"alarm.{alarm.kind.value}.text", **said).strip()
    return AlarmRow(name, alarm.is_raised, text, alarm.since)


def finding_rows(findings: Sequence[LintFinding], ui: Ui) -> tuple[FindingRow, ...]:
    """Lay out the findings that lose most, those of different days added up."""
    found: dict[tuple[str, Cause, str, str], LintFinding] = {}
    for one in sorted(findings, key=lambda finding: -finding.day):
        place = (one.group, one.cause, one.where, one.model)
        known = found.get(place)
        found[place] = one if known is None else _added(known, one)
    most = sorted(found.values(), key=lambda finding: -finding.tokens)[:_MOST_FINDINGS]
    return tuple(_finding(finding, ui) for finding in most)


def _added(newest: LintFinding, other: LintFinding) -> LintFinding:
    money = None if newest.money is None or other.money is None else newest.money + other.money
    return replace(
        newest,
        prompts=newest.prompts + other.prompts,
        seen=newest.seen + other.seen,
        tokens=newest.tokens + other.tokens,
        money=money,
    )


def _finding(finding: LintFinding, ui: Ui) -> FindingRow:
    told = plain(finding.fix)
    return FindingRow(
        cause=ui.t.word("cause", finding.cause.value),
        where=plain(finding.where),
        place=ui.t("costs.prefix.place", byte=ui.t.number(finding.byte), token=ui.t.number(finding.token)),
        sample=plain(finding.sample),
        seen=ui.t("costs.prefix.seen", seen=ui.t.number(finding.seen), prompts=ui.t.number(finding.prompts)),
        tokens=ui.t.number(finding.tokens),
        money=_money(finding.money, ui),
        fix=told if ui.t.language == "en" and told else ui.t.word("fix", finding.cause.value),
        scope=(
            *((plain(finding.model),) if finding.model else ()),
            *(plain(value) for _, value in finding.labels),
        ),
    )
