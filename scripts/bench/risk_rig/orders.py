"""Orders in which cuts may be tested, side by side: what each gives up against the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from risk_rig.choosers import Ours
from risk_rig.running import run
from risk_rig.summary import summary
from risk_rig.worlds import World
from semcache.decide.risk import standing
from semcache.decide.risk.grid import BINS
from semcache.decide.risk.operating import Start, starts

Starts = Callable[[float], tuple[Start, ...]]
_WORLDS = 4


def orders() -> dict[str, Starts]:
    """Give all orders by name, the product's last."""
    fourth = range(BINS - 2, 4, -4)
    return {
        "fixed sequence from the strictest bin": lambda _: (Start(BINS - 1, 1.0),),
        "every bin, error probability split evenly": lambda _: tuple(
            Start(bin_, 1.0 / BINS) for bin_ in range(BINS)
        ),
        "fixed sequences from every fourth bin": lambda _: tuple(
            Start(bin_, 1.0 / len(fourth)) for bin_ in fourth
        ),
        "fixed sequence from 0.3 x budget alone": lambda budget: (Start(starts(budget)[0].bin, 1.0),),
        "that and a strict one, 80 : 20": lambda budget: (
            Start(starts(budget)[0].bin, 0.8),
            Start(starts(budget)[1].bin, 0.2),
        ),
        "as shipped: these and three loose ones": starts,
    }


def compared(worlds: list[World], runs: int, seed: int) -> dict[str, dict[str, float]]:
    """Share given up by order and world, on the first four worlds."""
    found: dict[str, dict[str, float]] = {}
    for name, order in orders().items():
        with _in_force(order):
            found[name] = {
                world.name: summary(world, run(world, Ours(world, runs), runs, seed), 5000)["given_up"]
                for world in worlds[:_WORLDS]
            }
    return found


@contextmanager
def _in_force(order: Starts) -> Iterator[None]:
    shipped = standing.starts
    standing.starts = order
    standing.needed.cache_clear()
    try:
        yield
    finally:
        standing.starts = shipped
        standing.needed.cache_clear()
