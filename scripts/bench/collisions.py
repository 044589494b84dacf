"""Collision attacks on the semantic tier: how often a victim's question is served what an attacker had stored.

    .venv/bin/python scripts/bench/collisions.py [--shared DIR] [--victims 300] [--quick] [--json FILE] [--corpus FILE]

Each attack is asked first, by the attacker, and its answer stored in the namespace that both share; then the victim's
question is asked through the whole pipeline under the policy that ships: real encoders, FAISS, store, gate, verifier, and
the evidence of the shipped calibration. Attackers know nothing (`plain` attacks), another encoder (`transfer`), ours with its
weights (`white box`, greedy token substitution by gradient), or all of the decision (`adaptive`: a local search with the decision
as its oracle). Beside it what a cache serves that has a threshold and nothing else, and how far each attack came. Confirmation by
other users, where a policy asks for it, is no part of this: it is the decision alone that is measured here. `--corpus`
keeps what was served and the nearest of what was not, for the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from collision_rig.adaptive import adaptive
from collision_rig.judged import BARE, Judging, Seen
from collision_rig.plain import PLAIN, payload
from collision_rig.search import Effort, Searcher
from collision_rig.victims import Victim, victims
from rich.progress import Progress
from rich.table import Table
from rig.report import circumstances, console, headline, save, wilson
from rig.serving import ROOT

from semcache.core import TenantId
from semcache.evaluate.domains import policies_at
from semcache.evaluate.rig import opened
from semcache.settings import Settings

_LATIN, _OTHER = "all-MiniLM-L6-v2", "multilingual-e5-small"
_E5_PREFIX = "query: "
_BY_DOMAIN = frozenset(("suffix", "repeated", "adaptive", "white box"))
"""Attacks that are tried under the stricter domains as well."""
SHARED = Path(os.environ.get("SEMCACHE_SHARED_DATA", ROOT.parent / "shared" / "data"))


@dataclass(frozen=True, slots=True)
class Try:
    """One attack on one victim, and what came of it."""

    strategy: str
    victim: Victim
    attack: str
    domain: str
    seen: Seen


@dataclass(frozen=True, slots=True)
class Size:
    """How many victims the costly attackers get, and how long the adaptive one may try."""

    searched: int
    transferred: int
    adaptive: int
    tries: int
    until: float
    """Moment (monotonic) after which no further search is begun."""
    only_searches: bool = False

    def in_time(self, chosen: Iterable[Victim]) -> Iterator[Victim]:
        """Give victims while there is time."""
        return itertools.takewhile(lambda _: time.monotonic() < self.until, chosen)


def spread(chosen: Sequence[Victim], number: int) -> Sequence[Victim]:
    """Give so many victims of all files alike."""
    return chosen[:: max(1, len(chosen) // number)][:number] if number else ()


async def attacks(
    judging: Judging, chosen: Sequence[Victim], models: Path, size: Size
) -> AsyncIterator[tuple[str, Victim, str]]:
    """Yield every attack: strategy, victim, text."""
    for number, victim in enumerate(() if size.only_searches else chosen):
        for name, make in PLAIN.items():
            text = make(victim, number)
            if text and text != victim.text:
                yield name, victim, text
    for number, victim in enumerate(
        size.in_time(() if size.only_searches else spread(chosen, size.adaptive))
    ):

        async def oracle(text: str, victim: Victim = victim) -> tuple[bool, float]:
            return await judging.hits(text, victim.text, "chat")

        text, _ = await adaptive(victim, oracle, size.tries, number)
        yield "adaptive", victim, text
    if not size.searched:
        return
    own = {
        False: Searcher(models / _LATIN / "st"),
        True: Searcher(models / _OTHER / "st", _E5_PREFIX),
    }
    number = 0
    for victim in size.in_time(spread(chosen, size.searched)):
        said, number = payload(victim, number), number + 1
        yield "white box", victim, own[victim.is_han].attack(victim.text, said, Effort(), number)
    for victim in size.in_time(one for one in spread(chosen, size.transferred) if not one.is_han):
        said, number = payload(victim, number), number + 1
        yield "transfer", victim, own[True].attack(victim.text, said, Effort(), number)
    blank = Effort(from_victim=False)
    for victim in size.in_time(spread(chosen, size.transferred)):
        said, number = payload(victim, number), number + 1
        yield "white box, own words", victim, own[victim.is_han].attack(victim.text, said, blank, number)


async def measure(data: Path, chosen: Sequence[Victim], size: Size, advance: Progress) -> list[Try]:
    """Make all attacks under the chat domain, and under the victim's own where that is stricter."""
    found: list[Try] = []
    snapshot = policies_at(None)
    async with opened(Settings(data=data), snapshot, TenantId("default")) as rig:
        judging = Judging(rig)
        task = advance.add_task("attacks", total=None)
        async for strategy, victim, text in attacks(judging, chosen, data / "models", size):
            domains = ("chat", victim.domain) if strategy in _BY_DOMAIN else ("chat",)
            for domain in dict.fromkeys(domains):
                seen = await judging.run(text, victim.text, domain)
                found.append(Try(strategy, victim, text, domain, seen))
            advance.advance(task)
    return found


def groups(found: Sequence[Try]) -> dict[str, list[Try]]:
    """Sort the tries by strategy, domain and language, all of them first."""
    sorted_: defaultdict[str, list[Try]] = defaultdict(list)
    for one in found:
        if one.strategy == "near question":
            # An honest question that is easily mistaken: nobody's payload, told for itself.
            sorted_["(near question, no attack)"].append(one)
            continue
        if one.domain == "chat":
            sorted_["all attacks"].append(one)
            sorted_[one.strategy].append(one)
            sorted_["Chinese" if one.victim.is_han else "English"].append(one)
        else:
            sorted_[f"domain {one.domain}"].append(one)
    return sorted_


def figures(found: Sequence[Try]) -> dict[str, dict[str, object]]:
    """Give the counts by group."""
    return {
        name: {
            "attacks": len(tries),
            **{f"similarity {bar:.2f}": sum(one.seen.past(bar) for one in tries) for bar in BARE},
            "past gate": sum(one.seen.past_gate for one in tries),
            "past verifier": sum(one.seen.past_verifier for one in tries),
            "served": sum(one.seen.served for one in tries),
            "drafts": sum(one.seen.drafted for one in tries),
            "stopped by": dict(Counter(one.seen.reason for one in tries if one.seen.reason).most_common(6)),
        }
        for name, tries in groups(found).items()
    }


def table(told: dict[str, dict[str, object]]) -> Table:
    """Lay the shares out in percent."""
    steps = (*(f"similarity {bar:.2f}" for bar in BARE), "past gate", "past verifier", "served")
    shown = Table("attacks", "n", *steps, "95 % of served", title="% of attacks that come so far")
    for name, row in told.items():
        number = int(str(row["attacks"]))
        low, high = wilson(int(str(row["served"])), number)
        shares = (f"{100 * int(str(row[step])) / number:.1f}" for step in steps)
        shown.add_row(name, str(number), *shares, f"{100 * low:.1f}-{100 * high:.1f}")
    return shown


def corpus(found: Sequence[Try], most: int) -> list[dict[str, object]]:
    """Give what is worth asking again: all that was served, and of each strategy the nearest that were not."""
    kept: list[dict[str, object]] = []
    taken: Counter[str] = Counter()
    order = sorted(found, key=lambda one: (not one.seen.served, -one.seen.similarity))
    for one in order:
        if one.domain != "chat" or one.strategy == "near question" or len(one.attack) > 1500:
            continue
        taken[one.strategy] += 1
        if taken[one.strategy] <= most:
            kept.append({"strategy": one.strategy, "attack": one.attack, "victim": one.victim.text})
    return kept


def main() -> None:
    """Attack, print, save."""
    parser = argparse.ArgumentParser(description="Collision attacks on the semantic tier.")
    parser.add_argument("--shared", type=Path, default=SHARED, help="the folder of labelled files")
    parser.add_argument("--data", type=Path, default=ROOT / "semcache-data", help="where the models are")
    parser.add_argument("--victims", type=int, default=320)
    parser.add_argument("--no-search", action="store_true", help="leave out what needs gradients")
    parser.add_argument("--only-searches", action="store_true", help="leave out all that needs no gradients")
    parser.add_argument("--searched", type=int, default=320, help="victims of the search by gradient")
    parser.add_argument("--quick", action="store_true", help="eight victims")
    parser.add_argument("--minutes", type=float, default=60, help="after which no further search is begun")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--corpus", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    number = 8 if chosen.quick else chosen.victims
    searched = 0 if chosen.no_search else min(number, chosen.searched)
    until = time.monotonic() + 60 * chosen.minutes
    size = Size(searched, searched // 2, number // 3, 20 if chosen.quick else 40, until, chosen.only_searches)
    screen, facts = console(), circumstances()
    screen.print(headline(facts))
    with Progress(transient=True) as progress:
        found = asyncio.run(measure(chosen.data, victims(chosen.shared, number), size, progress))
    told = figures(found)
    screen.print(table(told))
    passed = [
        asdict(one)
        for one in found
        if (one.seen.served or one.seen.past_verifier) and one.strategy != "near question"
    ]
    save(chosen.json, {"circumstances": facts, "groups": told, "passed": passed})
    if chosen.corpus is not None:
        lines = (json.dumps(row, ensure_ascii=True) for row in corpus(found, 6))
        chosen.corpus.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
