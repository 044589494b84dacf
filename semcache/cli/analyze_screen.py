"""What `semcache analyze` shows: progress on stderr; the report on stdout, a section for each thing that was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from rich import progress as bars
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from semcache.advise.findings import (
    Advice,
    Exact,
    Findings,
    Overlap,
    Reading,
    Semantic,
    Shared,
    SizeCurve,
    Sizes,
    Spending,
    Worth,
)
from semcache.advise.rows import Watcher
from semcache.advise.telling import count, money, of_all, seconds, several, share, size
from semcache.cost_port import LintFinding

_FEW = 5
_FILES = 20
_LINTS = 8


class AnalysisProgress(Watcher):
    """A bar a stage on a terminal, a line a stage elsewhere; always on stderr."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._bars = bars.Progress(
            bars.TextColumn("{task.description}"),
            bars.BarColumn(),
            bars.TaskProgressColumn(),
            bars.TimeElapsedColumn(),
            bars.TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: bars.TaskID | None = None

    def __enter__(self) -> AnalysisProgress:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()

    def stage(self, name: str, total: int) -> None:
        """Begin a bar."""
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(escape(name), total=total or None)
        if not self._console.is_terminal:
            self._console.print(f"[bold]semcache[/bold]  {escape(name)}", soft_wrap=True)

    def advance(self, steps: int = 1) -> None:
        """Move the bar."""
        if self._task is not None:
            self._bars.advance(self._task, steps)


def report_of(found: Findings) -> Iterator[RenderableType]:
    """Give the report, section after section."""
    yield from _section("Read", _reading(found.reading))
    yield from _section("Money and tokens", _spending(found.spending))
    yield from _section("Shared beginnings", _overlap(found.overlap))
    yield from _section("Exact repeats", _exact(found.exact))
    if found.semantic is not None:
        yield from _section("Asked again of the real pipeline", _semantic(found.semantic, found.exact))
    yield from _section("Cache sizes", _sizes(found.sizes))
    if found.lint is not None:
        yield from _section("What keeps beginnings from being reused", _lint(found.lint))
    if found.worth is not None:
        yield from _section("Worth", _worth(found.worth))
    if found.advice is not None:
        yield from _section("Advice", _advice(found.advice))
    if found.notes:
        yield from _section("Notes", map(_line, found.notes))


def _section(title: str, parts: Iterable[RenderableType]) -> Iterator[RenderableType]:
    yield Text(f"\n{title}", style="bold")
    for part in parts:
        yield Padding(part, (0, 0, 0, 2), expand=False)


def _line(text: str) -> RenderableType:
    return Text(text)


_WORDS = ("form", "whose", "ends in", "where", "what to do", "level", "verdict", "why")


def _table(*columns: str) -> Table:
    """Make a table: what names its rows and what is words stands left, figures right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        is_figure = number > 0 and column not in _WORDS
        table.add_column(column, justify="right" if is_figure else "left", overflow="fold")
    return table


def _reading(reading: Reading) -> Iterator[RenderableType]:
    table = _table("file", "form", "whose", "bytes", "rows", "skipped")
    shown, others = reading.files[:_FILES], reading.files[_FILES:]
    for file in shown:
        whose = ", ".join(f"{name} {number}" for name, number in file.sources)
        table.add_row(
            escape(file.name), file.form, whose, size(file.bytes), count(file.rows), count(file.skipped)
        )
    if others:
        sums = (sum(file.bytes for file in others), sum(file.rows for file in others))
        skipped = sum(file.skipped for file in others)
        table.add_row(f"{count(len(others))} more", "", "", size(sums[0]), count(sums[1]), count(skipped))
    yield table
    if reading.first is not None and reading.last is not None:
        order = "put in time order" if reading.sorted else "in time order"
        yield _line(f"{_when(reading.first)} to {_when(reading.last)}, {order}")
    if reading.untimed:
        yield _line(
            f"without a time: {several(reading.untimed, 'row')}, taken to stand where they stood in their file"
        )
    if reading.limited:
        yield _line("only the first rows were taken (--limit)")
    if reading.skipped:
        yield _line(f"{count(reading.skipped)} skipped, by reason:")
        for reason, number in reading.reasons:
            yield _line(f"  {count(number)}  {reason}")
        for example in reading.examples[:_FEW]:
            yield _line(f"  {example}")
    for note in reading.notes:
        yield _line(note)


def _spending(spending: Spending) -> Iterator[RenderableType]:
    table = _table("model", "requests", "input", "of it cached", "output", "cost", "without a price")
    groups = [("all", spending.total)]
    if len(spending.by_model) > 1 or (spending.by_model and spending.by_model[0][0]):
        groups += spending.by_model
    for name, spent in groups:
        known = spent.cost if spent.unpriced < spent.requests else None
        row = (spent.requests, spent.input, spent.cached, spent.output)
        table.add_row(escape(name or "(none)"), *map(count, row), money(known), count(spent.unpriced))
    yield table
    total = spending.total
    if total.estimated:
        yield _line(
            f"tokens of {several(total.estimated, 'request')} are guessed from their texts: no usage in the log"
        )
    if total.failed:
        yield _line(f"{several(total.failed, 'request')} failed")
    if spending.seconds_p50 is not None and spending.seconds_p95 is not None:
        yield _line(
            f"an answer took {seconds(spending.seconds_p50)} (median), {seconds(spending.seconds_p95)} (95 %)"
        )


def _overlap(overlap: Overlap) -> Iterator[RenderableType]:
    whole = overlap.all
    bound = "at least " if overlap.forgotten else ""
    yield _line(
        f"{bound}{share(whole.share)} of {count(whole.tokens)} input tokens (guessed) stand in a beginning that came before"
    )
    if overlap.provider is not None:
        yield _line(
            f"a provider's prompt cache takes {share(overlap.provider.share)} of it "
            f"(from {overlap.provider_least} tokens, used within {seconds(overlap.provider_life)})"
        )
    yield _shares("depth (tokens)", overlap.by_depth)
    yield _shares("part", overlap.by_part)
    for name, groups in (("model", overlap.by_model), ("tenant", overlap.by_tenant)):
        if len(groups) > 1:
            yield _shares(name, groups)
    if overlap.heads:
        table = _table("shared beginning", "ends in", "tokens", "prompts", "model")
        for head in overlap.heads[:_FEW]:
            table.add_row(head.digest, head.part, count(head.tokens), count(head.prompts), escape(head.model))
        yield table
    if overlap.forgotten:
        yield _line(
            f"{count(overlap.forgotten)} blocks were forgotten (memory is bounded): shares are lower bounds"
        )


def _shares(name: str, groups: Sequence[Shared]) -> RenderableType:
    table = _table(name, "prompts", "tokens", "came before", "share")
    for group in groups:
        if group.tokens:
            table.add_row(
                escape(group.name or "(none)"),
                count(group.requests),
                count(group.tokens),
                count(group.reused),
                share(group.share),
            )
    return table


def _exact(exact: Exact) -> Iterator[RenderableType]:
    part = exact.hits / exact.requests if exact.requests else 0.0
    yield _line(
        f"{count(exact.hits)} of {count(exact.requests)} requests ({share(part)}) repeat an earlier one within its "
        f"life ({seconds(exact.ttl)}); {count(exact.repeats)} do at all"
    )
    saved = exact.saved_cost if exact.unpriced < exact.hits or not exact.hits else None
    yield _line(
        f"that saves {count(exact.saved_input)} input and {count(exact.saved_output)} output tokens, {money(saved)}, "
        f"{seconds(exact.saved_seconds)} of waiting"
    )
    if exact.out_of_reach:
        reasons = ", ".join(f"{name} {count(number)}" for name, number in exact.reasons)
        yield _line(f"{count(exact.out_of_reach)} requests are kept from the cache: {reasons}")


def _semantic(semantic: Semantic, exact: Exact) -> Iterator[RenderableType]:
    yield _line(
        f"{several(semantic.requests, 'request')}{f' (of {count(semantic.of)}: {semantic.sample})' if semantic.sampled else ''}: "
        f"{several(semantic.exact, 'exact hit')}, {count(semantic.semantic)} by meaning, {several(semantic.drafts, 'draft')}"
    )
    if semantic.hit_interval is not None:
        known = exact.hits / exact.requests if exact.requests else 0.0
        yield _line(f"share of hits in the whole log: {of_all(*semantic.hit_interval, known)} (95 %)")
    table = _table("domain", "requests", "exact", "by meaning", "expected wrong", "kept back", "saved")
    for each in semantic.domains:
        wrong = "-" if each.wrong is None else f"{each.wrong:.1f}"
        if each.wrong_interval is not None:
            wrong += f" ({each.wrong_interval[0]:.1f}-{each.wrong_interval[1]:.1f})"
        counts = tuple(map(count, (each.requests, each.exact, each.semantic)))
        saved = each.saved_cost if each.unpriced < each.hits or not each.hits else None
        table.add_row(escape(each.domain), *counts, wrong, count(each.would_be), money(saved))
    yield table
    for note in semantic.notes:
        yield _line(note)


def _sizes(sizes: Sizes) -> Iterator[RenderableType]:
    table = _table("for this share of the gain", "50 %", "80 %", "95 %")
    for name, unit, curve in (
        ("answers", "entries", sizes.answers),
        ("prefixes", "tokens", sizes.prefixes),
    ):
        if curve is not None:
            table.add_row(f"{name}, {unit}", *(count(each.items) for each in curve.sizes))
            table.add_row(f"{name}, memory", *_memory(curve))
    if not table.row_count:
        yield _line("nothing came twice: there is nothing to hold")
        return
    yield table
    if sizes.prefixes is not None:
        yield _line("memory of prefixes is that of an 8B model (128 KiB a token); of others, a token:")
        for name, each in sizes.kv_bytes:
            yield _line(f"  {size(each)}  {name}")


def _memory(curve: SizeCurve) -> Iterator[str]:
    return (size(each.bytes) for each in curve.sizes)


def _lint(findings: Sequence[LintFinding]) -> Iterator[RenderableType]:
    if not findings:
        yield _line("nothing was found")
        return
    table = _table("cause", "where", "at token", "prompts", "tokens lost", "money", "what to do")
    for each in findings[:_LINTS]:
        broken = f"{count(each.seen)} of {count(each.prompts)}"
        words = (each.cause.value, escape(each.where), count(each.token), broken, count(each.tokens))
        table.add_row(*words, money(each.money), escape(each.fix))
    yield table


def _worth(worth: Worth) -> Iterator[RenderableType]:
    if not worth.days:
        yield _line("of the whole log (it has no times, or is too short to speak of days):")
    total = worth.total
    per = "a day" if worth.days else "in all"
    yield _line(
        f"{money(total.net)} {per} ({several(total.hits, 'hit')} of {several(total.requests, 'request')}, "
        f"{seconds(total.seconds)} of waiting spared)"
    )
    if worth.month is not None:
        yield _line(f"{money(worth.month)} in thirty days")
    if worth.by_provider is not None:
        yield _line(
            f"a provider's prompt cache takes off {money(worth.by_provider)} {per}, where it is not used yet"
        )
    for note in worth.notes:
        yield _line(note)


def _advice(advice: Advice) -> Iterator[RenderableType]:
    words = {
        True: "Switch reuse on.",
        False: "Leave reuse off.",
        None: "The log does not say whether to switch it on.",
    }
    yield Text(words[advice.switch_on], style="bold")
    for reason in advice.reasons:
        yield _line(f"- {reason}")
    if advice.levels:
        table = _table("domain", "level", "verdict", "why")
        for level in advice.levels:
            table.add_row(
                escape(level.domain or "all"), level.level, level.verdict, escape("; ".join(level.why))
            )
        yield table
    for number, step in enumerate(advice.steps, 1):
        yield _line(f"{number}. {step}")
    if advice.policy:
        yield _line("a policy file to begin with: --policy-out FILE writes it")


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
