"""The engine's memory for people: the prefix tree as text, as JSON, and as one page.

Pure. Shows sizes, times and short digests; there is no token and no text of a prompt in what it is
given. Everything is escaped all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape
from typing import Any

from semcache.engine.metrics import by_tenant
from semcache.engine.report import EngineReport, TreeNode

_BAR = 40


def hit_rate(report: EngineReport) -> float:
    """Give the share of users' prompt tokens that were found computed; 0 before the first."""
    return report.cached / report.prompt if report.prompt else 0.0


def as_json(report: EngineReport, nodes: Sequence[TreeNode]) -> dict[str, Any]:
    """Give report and nodes as a JSON object; tenants under short names."""
    document = asdict(report) | {
        "hit_rate": round(hit_rate(report), 4),
        "evictions": dict(report.evictions),
        "tenants": dict(by_tenant(report.tenants)),
    }
    return {"report": document, "tree": [asdict(node) for node in nodes]}


def as_text(report: EngineReport, nodes: Sequence[TreeNode]) -> str:
    """Draw pool and tree with letters."""
    parts = (
        f"tree {report.tree:,} (pinned {report.pinned:,}), running {report.running:,}, free {report.free:,}"
    )
    lines = [
        f"pool   [{_bar(report)}] {report.capacity:,} tokens: {parts}; most in use {report.high_water:,}",
        f"reuse  {hit_rate(report):.1%} of {report.prompt:,} prompt tokens; recomputed {report.recomputed:,}",
        f"work   {report.active} answering, {report.queued} waiting, {report.generated:,} tokens generated",
        f"tree   {report.nodes:,} nodes, {len(nodes):,} shown",
        "",
        f"{'tokens':>8} {'from':>8} {'hits':>7} {'often':>7} {'pins':>5} {'last use':>9} {'age':>9}  owner",
    ]
    return "\n".join([*lines, *(_line(node) for node in nodes)]) + "\n"


def as_page(report: EngineReport, nodes: Sequence[TreeNode], model: str) -> str:
    """Give one HTML page that needs nothing else; it reloads itself every ten seconds."""
    rows = "".join(_row(node, max((n.tokens for n in nodes), default=1)) for node in nodes)
    tiles = "".join(
        f"<div class=tile><b>{escape(value)}</b><span>{escape(name)}</span></div>"
        for name, value in _tiles(report)
    )
    tenants = "".join(
        f"<tr><td class=mono>{escape(name)}<td class=n>{tokens:,}"
        for name, tokens in by_tenant(report.tenants)
    )
    evicted = "".join(
        f"<tr><td>{escape(reason)}<td class=n>{tokens:,}" for reason, tokens in report.evictions
    )
    return f"""<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=10>
<meta name=viewport content="width=device-width"><title>{escape(model)}: computed prefixes</title>
<style>{_STYLE}</style>
<h1>{escape(model)} <small>computed prefixes</small></h1>
<section class=tiles>{tiles}</section>
<section><h2>Pool</h2><div class=pool>{_pool(report)}</div><p class=key>{_key(report)}</section>
<section><h2>Tree <small>{report.nodes:,} nodes, {len(nodes):,} shown</small></h2>
<div class=wide><table><tr><th>tokens<th class=n>from<th class=n>hits<th class=n>often<th class=n>pins
<th class=n>last use<th class=n>age<th>owner<th>digest{rows}</table></div></section>
<section class=pair><div><h2>Tenants</h2><table>{tenants or _NOTHING}</table></div>
<div><h2>Evicted</h2><table>{evicted or _NOTHING}</table></div></section>
</html>"""


_NOTHING = "<tr><td class=dim>nothing yet"

_STYLE = """
:root{color-scheme:light dark;--bg:#fbfbfa;--fg:#22262b;--dim:#767d86;--line:#e4e5e3;--card:#fff;
--tree:#3f7cac;--pin:#1f4e79;--run:#d98e32;--free:#e9eae7}
@media(prefers-color-scheme:dark){:root{--bg:#15181c;--fg:#e3e6e9;--dim:#8d959e;--line:#2b3036;--card:#1c2025;
--tree:#5b9bd0;--pin:#9cc8ee;--run:#e3a458;--free:#2a2f35}}
body{margin:2rem auto;max-width:70rem;padding:0 1rem;background:var(--bg);color:var(--fg);
font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem}h2{font-size:1.05rem;margin:0 0 .6rem}small{color:var(--dim);font-weight:400}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:1rem 1.2rem;margin:1rem 0}
.tiles{display:flex;flex-wrap:wrap;gap:1rem 2.5rem}.tile b{display:block;font-size:1.45rem}
.tile span,.dim,.key{color:var(--dim)}.pool{display:flex;height:22px;border-radius:6px;overflow:hidden}
.pool i{display:block}.key i{display:inline-block;width:.8em;height:.8em;border-radius:3px;margin:0 .4em 0 1em}
.t{background:var(--tree)}.p{background:var(--pin)}.r{background:var(--run)}.f{background:var(--free)}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
td,th{padding:.2rem .6rem;border-bottom:1px solid var(--line);text-align:left;white-space:nowrap}
th{color:var(--dim);font-weight:500}.n{text-align:right;font-variant-numeric:tabular-nums}
.mono{font-family:ui-monospace,monospace}.bar{display:inline-block;height:.6em;border-radius:3px;
background:var(--tree);margin-right:.5em;min-width:2px}.pair{display:grid;grid-template-columns:1fr 1fr;gap:2rem}
"""


def _tiles(report: EngineReport) -> Iterator[tuple[str, str]]:
    yield "of prompt tokens reused", f"{hit_rate(report):.1%}"
    yield "prompt tokens", f"{report.prompt:,}"
    yield "tokens generated", f"{report.generated:,}"
    yield "answering now", f"{report.active:,}"
    yield "waiting", f"{report.queued:,}"
    yield "of memory for the pool", _size(report.capacity * report.bytes_per_token)


def _shares(report: EngineReport) -> tuple[tuple[str, str, int], ...]:
    return (
        ("p", "tree, in use", report.pinned),
        ("t", "tree", max(report.tree - report.pinned, 0)),
        ("r", "running", report.running),
        ("f", "free", report.free),
    )


def _pool(report: EngineReport) -> str:
    whole = max(report.capacity, 1)
    return "".join(
        f'<i class={kind} style="width:{100 * tokens / whole:.2f}%" title="{name}: {tokens:,}"></i>'
        for kind, name, tokens in _shares(report)
        if tokens
    )


def _key(report: EngineReport) -> str:
    return "".join(f"<i class={kind}></i>{name} {tokens:,}" for kind, name, tokens in _shares(report))


def _row(node: TreeNode, longest: int) -> str:
    width = max(120 * node.tokens // max(longest, 1), 2)
    return (
        f'<tr><td style="padding-left:{0.6 + 1.2 * min(node.depth, 40):.1f}rem">'
        f'<span class=bar style="width:{width}px"></span>{node.tokens:,}'
        f"<td class=n>{node.start:,}<td class=n>{node.hits:,}<td class=n>{node.frequency:.1f}"
        f"<td class=n>{node.users}<td class=n>{ago(node.idle_seconds)}<td class=n>{ago(node.age_seconds)}"
        f"<td>{escape(node.owner)}<td class=mono>{escape(node.digest[:12])}"
    )


def _line(node: TreeNode) -> str:
    figures = (
        f"{node.tokens:>8,} {node.start:>8,} {node.hits:>7,} {node.frequency:>7.1f} {node.users:>5}"
        f" {ago(node.idle_seconds):>9} {ago(node.age_seconds):>9}"
    )
    return f"{figures}  {'. ' * min(node.depth, 40)}{_printable(node.owner)} {_printable(node.digest[:12])}"


def _bar(report: EngineReport) -> str:
    """Draw the pool: in use, tree, running, free."""
    whole = max(report.capacity, 1)
    signs = {"p": "#", "t": "=", "r": "+", "f": " "}
    drawn = "".join(signs[kind] * round(_BAR * tokens / whole) for kind, _, tokens in _shares(report))
    return drawn[:_BAR].ljust(_BAR)


def ago(seconds: float) -> str:
    """Write a time span in the largest unit that fits."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def _size(count: int) -> str:
    return f"{count / (1 << 30):.2f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MiB"


def _printable(text: str) -> str:
    """Keep a name from steering a terminal."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)
