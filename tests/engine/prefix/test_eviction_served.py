"""What the order keeps where conversations, system prompts and floods meet it."""

from __future__ import annotations

from random import Random

from semcache.engine.memory.allocator import RunAllocator
from semcache.engine.prefix.eviction import (
    HybridPolicy,
)
from semcache.engine.prefix.rules import EvictionRules
from semcache.engine.prefix.tree import PrefixTree
from tests.engine.prefix.orders import PLAIN, Bench


class Engine:
    """A pool and a tree, one request after another."""

    def __init__(self, capacity: int, rules: EvictionRules | None = None) -> None:
        self.slots = RunAllocator(capacity)
        self.policy = HybridPolicy(capacity, rules)
        self.tree = PrefixTree(capacity, self.policy.order, self.policy)

    def ask(self, prompt: bytes, now: float, answer: bytes = b"", warm_until: float = 0.0) -> int:
        """Serve a prompt; gives the tokens that were reused."""
        whole = prompt + answer
        match = self.tree.match(prompt, ())
        handle = self.tree.lock(match, match.length, now, counts=not warm_until)
        missing = len(whole) // 4 - match.length
        if missing > self.slots.free:
            self.slots.give(self.tree.evict(missing - self.slots.free, now))
        runs = self.slots.take(missing)
        assert runs is not None
        handle = self.tree.insert(handle, whole, (), runs, now).handle
        if warm_until:
            self.policy.warm(handle.node, warm_until)
        self.tree.unlock(handle)
        return match.length


def text(number: int, length: int) -> bytes:
    return Random(number).randbytes(4 * length).translate(bytes(byte & 0x7F for byte in range(256)))


def test_a_system_prompt_of_all_survives_long_one_off_chats() -> None:
    # 20 sessions use 500 tokens every 10 minutes; 25 chats of 90,000 tokens come once; room for 10.
    engine = Engine(900_000)
    system = text(0, 500)
    now, found, asked = 0.0, [], 0
    for chat in range(25):
        for _ in range(20):
            asked += 1
            now += 30.0
            found.append(engine.ask(system + text(1000 + asked, 30), now))
        engine.ask(text(100_000 + chat, 90_000), now + 1)
    assert found[0] == 0
    assert set(found[1:]) == {500}
    engine.tree.check_integrity()


def test_warmed_prefixes_outlive_the_flood_until_their_time_and_not_longer() -> None:
    engine = Engine(5000)
    warmed = [text(number, 200) for number in range(10)]
    for prompt in warmed:
        engine.ask(prompt, 0.0, warm_until=600.0)
    for number in range(60):
        engine.ask(text(1000 + number, 200), 10.0 + number)
    assert [engine.tree.match(prompt, ()).length for prompt in warmed] == [200] * 10
    for number in range(100):
        engine.ask(text(5000 + number, 200), 601.0 + number)
    assert [engine.tree.match(prompt, ()).length for prompt in warmed] == [0] * 10
    engine.tree.check_integrity()


def test_answers_that_never_come_back_go_first() -> None:
    # Ten turns; the client strips what the model thought from the history.
    engine = Engine(100_000)
    history, dead = text(0, 300), 0
    for turn in range(10):
        engine.ask(history, 60.0 * turn, answer=text(100 + turn, 400))
        dead += 400
        history += text(200 + turn, 50)
    live = len(history) // 4 - 50
    engine.slots.give(engine.tree.evict(dead - 450, 600.0))
    assert engine.tree.match(history, ()).length == live
    engine.tree.check_integrity()


def test_the_newest_turn_of_a_conversation_is_kept_where_conversations_go_on() -> None:
    # The plain rule prunes it before all else; with evidence that turns follow, it stays.
    def reused(rules: EvictionRules) -> float:
        engine, found, sent = Engine(14_000, rules), 0, 0
        histories = [text(number, 300) for number in range(12)]
        for turn in range(200):
            session = turn % 12
            histories[session] += text(1000 + turn, 60)
            if len(histories[session]) > 4 * 1100:
                histories[session] = text(5000 + turn, 300)
            found += engine.ask(histories[session], float(turn), answer=text(9000 + turn, 20))
            sent += len(histories[session]) // 4
        engine.tree.check_integrity()
        return found / sent

    assert reused(EvictionRules()) > 0.8
    assert reused(EvictionRules()) >= reused(PLAIN)


def test_learning_is_the_same_every_time() -> None:
    def victims() -> list[tuple[int, str]]:
        random, bench = Random(3), Bench(EvictionRules(evidence=10))
        popped, queued = [], []
        for now in range(400):
            if queued and random.random() < 0.6:
                bench.use(random.choice(queued), float(now))
            else:
                queued.append(bench.new(random.randint(1, 300), float(now)))
            if len(queued) > 20:
                victim = bench.order.pop(float(now))
                assert victim is not None
                queued.remove(victim.node)
                popped.append((victim.node, victim.reason))
        return popped

    assert victims() == victims()


# Any order of calls against naive models.
