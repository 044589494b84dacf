"""One request after the other through the pipeline, with fakes at every port: asked, decided, called, kept."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semcache.answer.flight import Flights
from semcache.core import (
    Bypass,
    CachePolicy,
    Caller,
    Directives,
    Draft,
    EntryId,
    Hit,
    Miss,
    Namespace,
    ReviewStatus,
    TenantId,
    UntilProven,
)
from semcache.cost_rules import HistoryPolicy, Trimming
from semcache.decide.decision import Serving
from semcache.dialects.chat.assemble import chat_assembler
from semcache.dialects.chat.request import parse_chat
from semcache.errors import EncoderError, RequestError, StoreError, VectorIndexError
from semcache.journey import Asked, Backend, Forwarded, Served, Trimmed
from semcache.pipeline import Pipeline
from semcache.policy.loader import load_directory
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Selector, UpstreamCall
from semcache.remembering import Memory
from semcache.store.near import NearCache
from tests.fakes.encoder import FakeEncoder
from tests.fakes.entry_store import FakeEntryStore
from tests.fakes.generator import FakeGenerator, FakeReply
from tests.fakes.upstream_server import chat_body
from tests.fakes.vector_index import FakeVectorIndex
from tests.fakes.verifier import FakeVerifier

ACME = TenantId("acme")
POLICY = """
schema_version: 1
tenant: acme
access: {keys: [], anonymous: loopback}
default_domain: chat
defaults: {ttl: 1h, ttl_jitter: 0}
domains:
  chat: {mode: semantic, threshold: 0.92, verified_threshold: 0.90, draft_threshold: 0.80}
  strict: {mode: semantic, threshold: 0.99}
  watched: {mode: shadow, threshold: 0.92}
  exact: {mode: exact}
  closed: {mode: "off"}
  own: {mode: semantic, threshold: 0.92, scope: user}
classifier: {enabled: false}
"""


class FakeClock:
    """Time stands still until it is moved."""

    def __init__(self) -> None:
        self.at = 1_000_000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


@dataclass
class FakeAllowance:
    """Allows what it is told to."""

    says: Serving = field(default_factory=Serving)
    asked: list[str] = field(default_factory=list)

    async def serving(self, policy: CachePolicy) -> Serving:
        self.asked.append(policy.domain)
        return self.says


@dataclass
class Scene:
    """A pipeline with everything around it in reach."""

    snapshot: PolicySnapshot
    clock: FakeClock = field(default_factory=FakeClock)
    alive: bool = True
    tasks: list[asyncio.Task[Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.encoder = FakeEncoder()
        self.verifier = FakeVerifier(says=0.9)
        self.allowance = FakeAllowance()
        self.index = FakeVectorIndex()
        self.store = FakeEntryStore(self.clock)
        self.near = NearCache(100, 1 << 20, self.clock.now, self.clock.monotonic)
        self.texts = itertools.count(1)
        self.upstream = FakeGenerator(self._reply)
        ids = itertools.count(1)
        self.pipeline = Pipeline(
            policies=lambda: self.snapshot,
            encoder=self.encoder,
            classifiers=None,
            index=self.index,
            store=self.store,
            near=self.near,
            store_alive=lambda: self.alive,
            flights=Flights(self.spawn),
            backends={"up": Backend(self.upstream, "up", "Bearer managed")},
            aliases={},
            default_backend="up",
            assembler=lambda _, head: chat_assembler(head.content_type),
            clock=self.clock,
            spawn=self.spawn,
            verifier=self.verifier,
            standings=self.allowance,
            watch=None,
            revising=None,
            budgets=None,
            shortening=None,
            kin=None,
            memory=Memory(
                encoder=self.encoder,
                classifiers=None,
                index=self.index,
                store=self.store,
                clock=self.clock,
                spawn=self.spawn,
                new_id=lambda: EntryId(f"entry-{next(ids)}"),
                jitter=lambda: 0.5,
            ),
        )

    def spawn(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.append(task)
        return task

    def _reply(self, call: UpstreamCall) -> FakeReply:
        return FakeReply(parts=[json.dumps(chat_body(f"answer {next(self.texts)}")).encode()])

    async def ask(self, question: str, *, user: str = "", caller: Caller | None = None, **wishes: Any) -> Any:
        """Ask, read the whole answer, and give what the pipeline gave."""
        fields = wishes.pop("fields", {})
        messages = [{"role": "user", "content": question}]
        body = {"model": "m", "messages": messages, **fields, **({"user": user} if user else {})}
        request = parse_chat(body, "/v1/chat/completions")
        answer = await self.pipeline.answer(Asked(request, caller or Caller(ACME), Directives(**wishes)))
        if isinstance(answer, Forwarded):
            async with answer.ticket:
                self.body = b"".join([chunk async for chunk in answer.ticket.chunks()])
        return answer

    @property
    def calls(self) -> int:
        return len(self.upstream.calls)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    (tmp_path / "acme.yaml").write_text(POLICY)
    made = Scene(load_directory(tmp_path))
    yield made
    for task in made.tasks:
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)


async def test_asked_twice_called_once(scene: Scene) -> None:
    first = await scene.ask("What is DNS?")
    assert first.trace.decision == Miss("empty-namespace")
    assert first.trace.stored
    second = await scene.ask(" What is  DNS? ")
    assert isinstance(second, Served)
    assert second.trace.decision == Hit(second.entry, exact=True, similarity=1.0)
    assert scene.calls == 1


async def test_other_words_are_found_by_meaning(scene: Scene) -> None:
    await scene.ask("how do I get my money back please")
    again = await scene.ask("How do I get my money back, please?")
    assert isinstance(again, Served)
    assert not again.trace.decision.exact
    assert again.trace.decision.similarity == pytest.approx(1.0, abs=1e-5)


async def test_the_gate_stands_after_the_match(scene: Scene) -> None:
    await scene.ask("how many days do I have for rule 1001 to come back please tell me now")
    other = await scene.ask("how many days do I have for rule 1002 to come back please tell me now")
    assert isinstance(other.trace.decision, Draft)
    assert "numbers" in other.trace.decision.reasons
    assert scene.calls == 2


ONE, OTHER = "how do I get my money back please", "How do I get my money back, please?"


async def test_a_hit_by_meaning_carries_the_verifier_s_score(scene: Scene) -> None:
    await scene.ask(ONE)
    again = await scene.ask(OTHER)
    assert again.trace.decision.score == 0.9
    assert scene.verifier.calls == [(OTHER, ONE, again.trace.decision.similarity)]


async def test_what_the_verifier_doubts_is_a_draft_and_the_upstream_is_asked(scene: Scene) -> None:
    await scene.ask(ONE)
    scene.verifier.says = 0.1
    again = await scene.ask(OTHER)
    assert isinstance(again, Forwarded)
    assert (again.trace.decision.reasons, again.trace.decision.score) == (("verifier",), 0.1)
    assert not again.trace.served


async def test_without_a_verifier_only_exact_repeats_are_served(scene: Scene) -> None:
    scene.pipeline = replace(scene.pipeline, verifier=None)
    await scene.ask(ONE)
    assert isinstance(await scene.ask(OTHER, no_store=True), Forwarded)
    assert isinstance(await scene.ask(ONE), Served)


async def test_what_the_evidence_does_not_allow_is_told_but_not_served(scene: Scene) -> None:
    await scene.ask(ONE)
    scene.allowance.says = Serving(cut=0.95, otherwise=UntilProven.SHADOW)
    again = await scene.ask(OTHER, no_store=True)
    assert isinstance(again, Forwarded)
    assert isinstance(again.trace.decision, Hit)
    assert again.trace.decision.shadow
    assert not again.trace.served
    scene.allowance.says = Serving(cut=None)
    again = await scene.ask(OTHER, no_store=True)
    assert isinstance(again.trace.decision, Draft)
    assert again.trace.decision.reasons == ("risk",)
    assert isinstance(await scene.ask(ONE), Served)


async def test_explain_tells_a_hit_that_the_evidence_keeps_back_from_one_that_is_served(scene: Scene) -> None:
    await scene.ask(ONE)
    request = parse_chat(
        {"model": "m", "messages": [{"role": "user", "content": OTHER}]}, "/v1/chat/completions"
    )
    asked = Asked(request, Caller(ACME), Directives())
    assert (await scene.pipeline.explain(asked)).served
    scene.allowance.says = Serving(cut=0.95, otherwise=UntilProven.SHADOW)
    assert not (await scene.pipeline.explain(asked)).served


async def test_the_evidence_is_that_of_the_domain_in_force(scene: Scene) -> None:
    await scene.ask(ONE, domain="strict")
    scene.allowance.asked.clear()
    await scene.ask(OTHER, domain="strict")
    assert scene.allowance.asked == ["strict"]


async def test_a_namespace_without_entries_costs_no_embedding_before_the_answer(scene: Scene) -> None:
    scene.encoder.delay = 0.05
    answer = scene.ask("What is DNS?")
    task = asyncio.ensure_future(answer)
    await asyncio.sleep(0.02)
    assert scene.calls == 1
    await task
    assert scene.encoder.calls == ["What is DNS?"]


@pytest.mark.parametrize(
    ("wishes", "decision", "calls"),
    [
        ({"no_read": True}, Miss("no-cache"), 2),
        ({"mode": "off"}, Bypass("asked-off"), 2),
        ({"domain": "closed"}, Bypass("policy-off"), 2),
        ({"max_age": 5.0}, Miss("below-threshold"), 2),
        ({"fields": {"temperature": 0.9}}, Bypass("temperature"), 2),
    ],
)
async def test_what_a_client_may_refuse(
    scene: Scene, wishes: dict[str, Any], decision: Any, calls: int
) -> None:
    await scene.ask("What is DNS?")
    scene.clock.at += 10
    answer = await scene.ask("What is DNS?", **wishes)
    assert type(answer.trace.decision) is type(decision)
    assert scene.calls == calls


async def test_only_if_cached(scene: Scene) -> None:
    with pytest.raises(RequestError) as caught:
        await scene.ask("What is DNS?", only_if_cached=True)
    assert (caught.value.status, scene.calls) == (504, 0)
    await scene.ask("What is DNS?")
    assert isinstance(await scene.ask("What is DNS?", only_if_cached=True), Served)


async def test_no_store_keeps_nothing_and_embeds_nothing(scene: Scene) -> None:
    answer = await scene.ask("Secret?", no_store=True)
    assert not answer.trace.stored
    assert scene.encoder.calls == []
    assert (await scene.store.counts(ACME)).entries == 0


async def test_shadow_decides_and_never_serves(scene: Scene) -> None:
    await scene.ask("What is DNS?", domain="watched")
    answer = await scene.ask("What is DNS?", domain="watched")
    assert isinstance(answer, Forwarded)
    assert isinstance(answer.trace.decision, Hit)
    assert scene.calls == 2


async def test_exact_mode_never_embeds(scene: Scene) -> None:
    await scene.ask("What is DNS?", domain="exact")
    assert isinstance(await scene.ask("What is DNS?", domain="exact"), Served)
    assert scene.encoder.calls == []


async def test_answers_of_one_user_are_that_user_s(scene: Scene) -> None:
    await scene.ask("How many days of leave do I have left?", domain="own", user="ann")
    assert isinstance(
        await scene.ask("How many days of leave do I have left?", domain="own", user="ann"), Served
    )
    assert isinstance(
        await scene.ask("How many days of leave do I have left?", domain="own", user="ben"), Forwarded
    )
    assert isinstance(await scene.ask("How many days of leave do I have left?", domain="own"), Forwarded)


async def test_principals_never_meet_and_keys_are_never_exchanged(scene: Scene) -> None:
    one = Caller(ACME, principal="p1", authorization="Bearer theirs")
    await scene.ask("What is DNS?", caller=one)
    await scene.ask("What is DNS?", caller=replace(one, principal="p2"))
    await scene.ask("What is DNS?")
    sent = [dict(call.headers)[b"authorization"] for call in scene.upstream.calls]
    assert sent == [b"Bearer theirs", b"Bearer theirs", b"Bearer managed"]


@pytest.mark.parametrize("kind", ["late", "down", "readonly", "open"])
async def test_store_faults_are_misses(scene: Scene, kind: str) -> None:
    await scene.ask("What is DNS?")
    scene.alive = False
    scene.store.fault = StoreError("broken", kind=kind)
    answer = await scene.ask("What is DNS?")
    assert answer.trace.decision == Miss(f"store-{kind}")
    assert f"store:{kind}" in answer.trace.faults
    assert json.loads(scene.body)["choices"]
    scene.store.fault = None
    assert isinstance(await scene.ask("What is DNS?"), Served)


@pytest.mark.parametrize(
    ("kind", "counted"), [("late", True), ("busy", True), ("error", True), ("too_long", False)]
)
async def test_encoder_faults_are_misses_and_refusals_no_faults(
    scene: Scene, kind: str, counted: bool
) -> None:
    await scene.ask("What is DNS?")
    scene.encoder.fault = EncoderError("no", kind=kind)
    answer = await scene.ask("Tell me what DNS is")
    assert answer.trace.decision == Miss(f"encoder-{kind}".replace("_", "-"))
    assert bool(answer.trace.faults) == counted
    assert answer.trace.stored


async def test_index_faults_are_misses(scene: Scene) -> None:
    await scene.ask("What is DNS?")
    scene.index.fault = VectorIndexError("broken", kind="memory")
    answer = await scene.ask("Tell me what DNS is")
    assert answer.trace.decision == Miss("index-memory")
    assert json.loads(scene.body)["choices"]


async def test_equal_misses_share_a_call_even_while_the_store_is_away(scene: Scene) -> None:
    scene.store.fault = StoreError("broken", kind="down")
    scene.upstream.delay = 0.05
    answers = await asyncio.gather(*(scene.ask("What is DNS?") for _ in range(20)))
    assert scene.calls == 1
    assert not any(answer.trace.stored for answer in answers)


async def test_a_deletion_during_the_answer_wins(scene: Scene) -> None:
    scene.upstream.delay = 0.05
    asking = asyncio.ensure_future(scene.ask("What is DNS?"))
    await asyncio.sleep(0.02)
    await scene.store.delete(Selector(ACME))
    assert not (await asking).trace.stored
    assert isinstance(await scene.ask("What is DNS?"), Forwarded)


@pytest.mark.parametrize("selector", ["tag", "model", "namespace", "ids", "all"])
async def test_an_answer_under_way_when_it_was_invalidated_is_nobodys_who_asks_afterwards(
    scene: Scene, selector: str
) -> None:
    await scene.ask("What is DNS?", tags=("net",))
    entry = (await scene.store.list_entries(Selector(ACME))).entries[0]
    scene.upstream.delay = 0.05
    scene.clock.at += 10

    def ask() -> asyncio.Task[Any]:
        return asyncio.create_task(scene.ask("What is DNS?", tags=("net",), max_age=5.0))

    before, beside = ask(), ask()
    await asyncio.sleep(0.02)
    assert scene.calls == 2, "those who ask at once share a call"
    chosen: dict[str, dict[str, Any]] = {
        "tag": {"tag": "net"},
        "model": {"model": "m"},
        "namespace": {"namespace": entry.namespace},
        "ids": {"ids": (entry.id,)},
        "all": {},
    }
    await scene.store.delete(Selector(ACME, **chosen[selector]))
    after = ask()
    assert not (await before).trace.stored
    await beside
    assert scene.calls == 3
    assert (await after).trace.stored


@pytest.mark.parametrize(
    "fields", [{}, {"seed": 7}, {"tools": [{"type": "function", "function": {"name": "f"}}]}]
)
async def test_what_was_invalidated_by_its_namespace_can_be_stored_again(
    scene: Scene, fields: dict[str, Any]
) -> None:
    await scene.ask("What is DNS?", fields=fields)
    entry = (await scene.store.list_entries(Selector(ACME))).entries[0]
    await scene.store.delete(Selector(ACME, namespace=entry.namespace))
    assert (await scene.ask("What is DNS?", fields=fields)).trace.stored
    assert isinstance(await scene.ask("What is DNS?", fields=fields), Served)


async def test_ghosts_are_forgotten_and_the_search_made_again(scene: Scene) -> None:
    await scene.ask("how do I get my money back please")
    entry = (await scene.store.list_entries(Selector(ACME))).entries[0]
    assert entry.embedding is not None
    where = Namespace(ACME, entry.namespace)
    for number in range(20):
        await scene.index.add(where, EntryId(f"ghost-{number}"), entry.embedding)
    again = await scene.ask("How do I get my money back, please?")
    assert isinstance(again, Served)


async def test_vectors_of_another_encoder_are_never_compared(scene: Scene) -> None:
    await scene.ask("how do I get my money back please")
    scene.encoder.generation = type(scene.encoder.generation)("other@000000000002")
    again = await scene.ask("How do I get my money back, please?")
    assert again.trace.decision == Miss("empty")
    assert isinstance(await scene.ask("how do I get my money back please"), Served)


async def test_an_encoder_without_a_scale_serves_nothing_by_meaning(scene: Scene) -> None:
    await scene.ask("how do I get my money back please")
    scene.encoder.calibrated = False
    again = await scene.ask("How do I get my money back, please?")
    assert again.trace.decision == Miss("uncalibrated-encoder")


async def test_a_verified_answer_is_served_a_little_further_away(scene: Scene) -> None:
    a, b = "how does the thing work", "explain how the thing works"
    scene.encoder.vectors = {a: np.array([1.0, 0.0]), b: np.array([0.91, np.sqrt(1 - 0.91**2)])}
    await scene.ask(a)
    assert isinstance((await scene.ask(b, no_store=True)).trace.decision, Draft)
    entry = (await scene.store.list_entries(Selector(ACME))).entries[-1]
    await scene.store.put(replace(entry, status=ReviewStatus.APPROVED, version=entry.version + 1))
    scene.near.clear()
    assert isinstance(await scene.ask(b, no_store=True), Served)


async def test_a_policy_changed_while_we_looked_is_the_one_that_counts(scene: Scene, tmp_path: Path) -> None:
    await scene.ask("What is DNS?")
    (tmp_path / "acme.yaml").write_text(POLICY.replace("chat: {mode: semantic", "chat: {mode: shadow"))
    later = load_directory(tmp_path)
    looked = scene.store.lookup

    async def slow(*arguments: Any) -> Any:
        scene.snapshot = later
        return await looked(*arguments)

    scene.near.clear()
    scene.store.lookup = slow  # type: ignore[method-assign]
    assert isinstance(await scene.ask("What is DNS?"), Forwarded)


async def test_expiry_and_age(scene: Scene) -> None:
    await scene.ask("What is DNS?")
    scene.clock.at += 3599
    assert isinstance(await scene.ask("What is DNS?"), Served)
    scene.clock.at += 2
    assert isinstance(await scene.ask("What is DNS?"), Forwarded)


async def test_questions_about_the_present_live_shorter(scene: Scene) -> None:
    await scene.ask("What day is it today?")
    scene.clock.at += 200
    assert isinstance(await scene.ask("What day is it today?"), Served)
    scene.clock.at += 200
    assert isinstance(await scene.ask("What day is it today?"), Forwarded)


async def test_an_encoder_that_was_busy_catches_up(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semcache.remembering._LATER", (0.01, 0.01))
    scene.encoder.fault = EncoderError("loading", kind="loading")
    await scene.ask("how do I get my money back please")
    scene.encoder.fault = None
    await asyncio.sleep(0.1)
    assert isinstance(await scene.ask("How do I get my money back, please?"), Served)


async def test_explain_touches_nothing(scene: Scene) -> None:
    request = parse_chat(
        {"model": "m", "messages": [{"role": "user", "content": "What is DNS?"}]}, "/v1/chat/completions"
    )
    trace = await scene.pipeline.explain(Asked(request, Caller(ACME), Directives()))
    assert trace.decision == Miss("empty-namespace")
    assert scene.calls == 0


TOOLS = [{"type": "function", "function": {"name": name}} for name in ("b", "a")]


@pytest.mark.parametrize("sorts", [True, False])
async def test_tools_in_another_order_are_one_request_where_the_policy_sorts_them(
    tmp_path: Path, sorts: bool
) -> None:
    rewrite = f"prefix: {{rewrite: {{sort_tools: {str(sorts).lower()}}}}}\n"
    (tmp_path / "acme.yaml").write_text(POLICY + rewrite)
    scene = Scene(load_directory(tmp_path))
    await scene.ask(ONE, fields={"tools": TOOLS})
    again = await scene.ask(ONE, fields={"tools": TOOLS[::-1]})
    assert isinstance(again, Served) == sorts
    sent = json.loads(scene.upstream.bodies[0])["tools"]
    assert [tool["function"]["name"] for tool in sent] == (["a", "b"] if sorts else ["b", "a"])
    for task in scene.tasks:
        task.cancel()
    await asyncio.gather(*scene.tasks, return_exceptions=True)


async def test_a_trimmed_history_is_the_request_that_is_stored_and_sent(scene: Scene) -> None:
    """What the model does not see has no part in the answer: equal after trimming is equal."""

    class Halving:
        async def applied(self, asked: Asked, policy: HistoryPolicy) -> Asked:
            kept = asked.request.body["messages"][-1:]
            request = replace(asked.request, body={**asked.request.body, "messages": kept}, keys={})
            return replace(asked, request=request, trimmed=Trimmed(Trimming.WINDOW, 2, 10, 1))

    scene.pipeline = replace(scene.pipeline, shortening=Halving())
    for before in ("one", "other"):
        messages = [{"role": "user", "content": before}, {"role": "user", "content": ONE}]
        answer = await scene.ask(ONE, fields={"messages": messages}, history="window")
        assert answer.trace.trimmed == Trimmed(Trimming.WINDOW, 2, 10, 1)
    assert isinstance(answer, Served)
    assert scene.calls == 1
    untouched = await scene.ask(ONE, fields={"messages": messages})
    assert untouched.trace.trimmed is None
    assert scene.calls == 2
