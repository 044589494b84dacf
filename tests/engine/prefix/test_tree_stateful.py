"""The tree against a naive model: a dictionary from every known prefix to the slot of its last token."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from semcache.engine.layers import PUBLIC, Layer, Layers, Owner, owner_at
from semcache.engine.prefix.faults import ForgottenError, HandleError, StaleMatchError, TreeError
from semcache.engine.prefix.handles import Handle
from semcache.engine.runs import Run, total
from tests.engine.prefix.recent import tenant, tokens, tree

OWNERS = (PUBLIC, tenant("a"), tenant("a", b"private"), tenant("b"))
CAPACITY = 60

Place = tuple[tuple[Owner, int], ...]
"""A prefix as the model knows it: every token with its owner."""

ids = st.lists(st.integers(0, 2), max_size=10)
some_layers = st.lists(st.tuples(st.integers(1, 4), st.sampled_from(OWNERS)), min_size=1, max_size=3)


def layers_of(widths: list[tuple[int, Owner]]) -> Layers:
    end, found = 0, []
    for width, owner in widths:
        end += width
        found.append(Layer(end, owner))
    return tuple(found)


def place_of(prompt: list[int], layers: Layers) -> Place:
    return tuple((owner_at(layers, at), token) for at, token in enumerate(prompt))


def slots(runs: tuple[Run, ...]) -> list[int]:
    return [slot for run in runs for slot in range(run.start, run.end)]


class Held:
    """A handle as its holder sees it."""

    def __init__(self, handle: Handle, prompt: list[int], layers: Layers) -> None:
        self.handle = handle
        self.prompt = prompt
        self.layers = layers
        self.place = place_of(prompt, layers)
        self.slots = slots(handle.runs)
        self.is_forgotten = False


class TreeMachine(RuleBasedStateMachine):
    matches = Bundle("matches")
    holders = Bundle("holders")

    def __init__(self) -> None:
        super().__init__()
        self.tree = tree(CAPACITY)
        self.known: dict[Place, int] = {}
        self.free = list(range(CAPACITY))
        self.holding: list[Held] = []
        self.now = 0.0

    def tick(self) -> float:
        self.now += 1.0
        return self.now

    def pinned(self) -> set[Place]:
        return {
            held.place[:end]
            for held in self.holding
            if not held.is_forgotten
            for end in range(1, len(held.place) + 1)
        }

    def reach(self, place: Place) -> int:
        return next(end for end in range(len(place), -1, -1) if not end or place[:end] in self.known)

    def take(self, count: int, piece: int) -> tuple[Run, ...]:
        """Allocate from the model's pool in pieces, lowest slots first; adjacent pieces happen."""
        runs = []
        while count:
            start = self.free[0]
            width = 1
            while width < min(count, piece) and start + width in self.free:
                width += 1
            self.free = self.free[width:]
            runs.append(Run(start, width))
            count -= width
        return tuple(runs)

    def give(self, runs: tuple[Run, ...]) -> None:
        back = slots(runs)
        assert not set(back) & set(self.free), "given back twice"
        self.free = sorted(self.free + back)

    @rule(target=matches, prompt=ids, widths=some_layers)
    def match(self, prompt: list[int], widths: list[tuple[int, Owner]]):
        layers = layers_of(widths)
        before = self.tree.counts()
        found = self.tree.match(tokens(prompt), layers)
        assert found.length == self.reach(place_of(prompt, layers))
        assert self.tree.counts() == before
        return found, prompt, layers

    @rule(target=holders, match=matches, part=st.integers(0, 10), counts=st.booleans())
    def lock(self, match, part: int, counts: bool):
        found, prompt, layers = match
        length = min(part, found.length)
        place = place_of(prompt[:length], layers)
        if self.reach(place) < length:
            with pytest.raises(StaleMatchError):
                self.tree.lock(found, length, self.tick(), counts=counts)
            return multiple()
        handle = self.tree.lock(found, length, self.tick(), counts=counts)
        assert handle.length == length == total(handle.runs)
        assert slots(handle.runs) == [self.known[place[:end]] for end in range(1, length + 1)]
        assert handle.public_length == sum(owner == PUBLIC for owner, _ in place)
        assert handle.digest == (self.tree.digest(tokens(prompt[:length]), layers) if length else b"")
        held = Held(handle, prompt[:length], layers)
        self.holding.append(held)
        return held

    @rule(held=holders, more=ids, piece=st.integers(1, 6))
    def insert(self, held: Held, more: list[int], piece: int) -> None:
        if held not in self.holding or len(more) > len(self.free):
            return
        prompt = held.prompt + more
        place = place_of(prompt, held.layers)
        runs = self.take(len(more), piece)
        if held.is_forgotten and held.prompt:
            with pytest.raises(ForgottenError):
                self.tree.insert(held.handle, tokens(prompt), held.layers, runs, self.tick())
            self.give(runs)
            return
        known = max(self.reach(place), len(held.prompt))
        inserted = self.tree.insert(held.handle, tokens(prompt), held.layers, runs, self.tick())
        mine = slots(runs)
        assert slots(inserted.duplicates) == mine[: known - len(held.prompt)]
        for end in range(known + 1, len(prompt) + 1):
            self.known[place[:end]] = mine[end - len(held.prompt) - 1]
        assert slots(inserted.handle.runs) == [self.known[place[:end]] for end in range(1, len(prompt) + 1)]
        self.give(inserted.duplicates)
        with pytest.raises(HandleError):
            self.tree.unlock(held.handle)
        held.__init__(inserted.handle, prompt, held.layers)

    @rule(
        held=holders,
        more=ids,
        fault=st.sampled_from(["slots", "taken", "prefix", "owner", "outside", "bytes"]),
    )
    def crash_in_insert(self, held: Held, more: list[int], fault: str) -> None:
        """A caller that gets it wrong loses its turn, not its handle; the tree is as before."""
        if held not in self.holding or not more or len(more) > len(self.free):
            return
        prompt, layers = held.prompt + more, held.layers
        runs = self.take(len(more), 10)
        self.give(runs)
        given, text = runs, tokens(prompt)
        match fault:
            case "slots":
                given = runs[1:]
            case "taken":
                others = [slot for slot in range(CAPACITY) if slot not in self.free]
                if not others:
                    return
                given = (Run(others[0], 1), *[Run(slot, 1) for slot in self.free[: len(more) - 1]])
            case "prefix":
                if not held.prompt:
                    return
                text = tokens([7, *prompt[1:]])
            case "owner":
                if not held.prompt:
                    return
                layers = (Layer(1, tenant("c")), Layer(2, PUBLIC))
            case "outside":
                given = (Run(CAPACITY - len(more) + 1, len(more)),)
            case _:
                text += b"\0"
        before = self.tree.counts()
        with pytest.raises(TreeError):
            self.tree.insert(held.handle, text, layers, given, self.tick())
        assert self.tree.counts() == before

    @rule(held=consumes(holders))
    def unlock(self, held: Held) -> None:
        if held not in self.holding:
            return
        self.holding.remove(held)
        freed = self.tree.unlock(held.handle)
        others = {slot for other in self.holding if other.is_forgotten for slot in other.slots}
        gone = set(held.slots) - others if held.is_forgotten else set()
        assert set(slots(freed)) == gone
        self.give(freed)
        with pytest.raises(HandleError):
            self.tree.unlock(held.handle)

    @rule(count=st.integers(-1, 30), name=st.sampled_from([None, None, "", "a", "b", "nobody"]))
    def evict(self, count: int, name: str | None) -> None:
        evictable = set(self.known) - self.pinned()
        if name is None:
            most = len(evictable)
        else:
            most = sum(all(owner.tenant == name for owner, _ in self.below(place)) for place in evictable)
        freed = self.tree.evict(count, self.tick(), tenant=name)
        assert total(freed) == min(max(count, 0), most)
        gone = {place for place, slot in self.known.items() if slot in set(slots(freed))}
        assert len(gone) == total(freed)
        assert gone <= evictable
        self.known = {place: slot for place, slot in self.known.items() if place not in gone}
        assert all(place[:-1] in self.known or len(place) == 1 for place in self.known), (
            "a head went before its tail"
        )
        self.give(freed)

    def below(self, place: Place) -> list[tuple[Owner, int]]:
        """All tokens that hang below a prefix, and its own last: what must go before it can."""
        end = len(place)
        return [other[-1] for other in self.known if other[:end] == place]

    @rule()
    def clear(self) -> None:
        pinned = {self.known[place] for place in self.pinned()}
        freed = self.tree.clear((("model", f"at {self.tick()}"),))
        assert set(slots(freed)) == set(self.known.values()) - pinned
        self.give(freed)
        self.known = {}
        for held in self.holding:
            held.is_forgotten = held.is_forgotten or bool(held.prompt)

    @invariant()
    def adds_up(self) -> None:
        self.tree.check_integrity()
        counts = self.tree.counts()
        forgotten = {slot for held in self.holding if held.is_forgotten for slot in held.slots}
        assert counts.tokens == len(self.known) + len(forgotten)
        assert counts.tokens + len(self.free) == CAPACITY
        assert counts.forgotten == len(forgotten)
        assert counts.pinned == len(self.pinned()) + len(forgotten)
        assert counts.pinned + counts.evictable == counts.tokens
        assert counts.handles == len(self.holding)


TestTreeMachine = TreeMachine.TestCase
TestTreeMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@pytest.mark.slow
class TestTreeMachineLong(TreeMachine.TestCase):
    settings = settings(max_examples=1500, stateful_step_count=60, deadline=None)
