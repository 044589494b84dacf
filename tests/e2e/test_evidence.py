"""What the cache promises of its hits, live: they are checked afterwards, wrong ones are seen, and what is seen decides.

A real proxy, store, encoder and verifier; the upstream says what a test wants it to say.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from semcache.core import RiskPolicy, Usage
from semcache.cost.prices import micro_usd
from semcache.decide.risk.standing import State
from semcache.standings import TRUSTED
from semcache.store.embedded import embedded_url
from tests.e2e.evidence import (
    ALIKE,
    BRIDGE,
    FURTHER,
    HOUSE,
    LATER,
    LESS_SURE,
    MANAGED,
    OTHER,
    PASSWORD,
    SOON_CLOSED,
    THE_SAME,
    THRIFT,
    World,
    ask,
    asked_for,
    audits,
    calls,
    explained,
    least,
    metric,
    outcome,
    report,
    report_when,
    say,
    seed,
    write_policies,
)
from tests.e2e.running import Proxy, running
from tests.e2e.tenants import bearer
from tests.fakes.upstream_server import ByRequest, UpstreamServer


@pytest.fixture(scope="module")
def files(upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    folder = tmp_path_factory.mktemp("evidence")
    config = folder / "config.yaml"
    config.write_text(
        f"default_upstream: main\nupstreams:\n  main: {{base_url: '{upstream.url}', api_key: 'env:TEST_MANAGED_KEY'}}\n"
    )
    return ("--config", str(config), "--policies", str(write_policies(folder / "policies")))


@pytest.fixture(scope="module")
def proxy(files: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    data = tmp_path_factory.mktemp("first") / "data"
    with running(data, *files, TEST_MANAGED_KEY="sk-managed") as started:
        yield started


@pytest.fixture(scope="module")
def replica(
    proxy: Proxy, files: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    """A second proxy on the first one's store."""
    data = tmp_path_factory.mktemp("second") / "data"
    store = embedded_url(proxy.data)
    with running(data, *files, TEST_MANAGED_KEY="sk-managed", SEMCACHE_STORE__URL=store) as started:
        yield started


@pytest.fixture
def world(upstream: UpstreamServer, counted: None) -> World:
    made = World()
    upstream.script = ByRequest(made)
    return made


# -- audits ---------------------------------------------------------------------------------


def test_a_hit_is_checked_in_the_background(proxy: Proxy, upstream: UpstreamServer, world: World) -> None:
    """The client has its answer while the upstream still thinks about the audit."""
    gate = threading.Event()
    world.held[ALIKE[0]], world.says[ALIKE[0]] = gate, THE_SAME
    try:
        stored = ask(proxy, "agreed", BRIDGE)
        began = time.monotonic()
        hit = ask(proxy, "agreed", ALIKE[0])
        took = time.monotonic() - began
        assert (outcome(hit), hit.text) == ("semantic", stored.text)
        assert took < 2.0
        proxy.wait_until(lambda: calls(upstream, "agreed") == 2)
        assert audits(proxy, "agreed", "right") == 0, "the upstream has not answered yet"
    finally:
        gate.set()
    proxy.wait_until(lambda: audits(proxy, "agreed", "right") == 1)
    asked = asked_for(upstream, "agreed")[-1]
    assert asked.json()["messages"][-1]["content"] == ALIKE[0], "the same is asked that the hit answered"
    assert asked.header("authorization") == MANAGED
    assert metric(proxy, "semcache_labels_total", source="audit", verdict="right") >= 1

    told = report_when(proxy, lambda row: row.get("semantic") == 1, "agreed")
    assert (told["right"], told["wrong"], told["undecided"], told["failed"]) == (1, 0, 0, 0)
    assert told["wrong_per_hit"] == 0.0
    assert [found["request"] for found in told["findings"]] == [hit.headers["x-request-id"]]
    assert told["flagged"] == []
    assert calls(upstream, "agreed") == 2, "one audit, and nothing to confirm"


def test_a_stream_is_audited_whole(proxy: Proxy, upstream: UpstreamServer, world: World) -> None:
    ask(proxy, "agreed", BRIDGE)
    before = audits(proxy, "agreed", "right")
    reply = proxy.chat(ALIKE[1], bearer(HOUSE), model="agreed", stream=True)
    assert outcome(reply) == "semantic"
    proxy.wait_until(lambda: audits(proxy, "agreed", "right") == before + 1)
    assert "stream" not in upstream.requests[-1].json()


def test_an_audit_that_fails_is_no_label(proxy: Proxy, upstream: UpstreamServer, world: World) -> None:
    ask(proxy, "failing", BRIDGE)
    world.fails.add(ALIKE[0])
    assert outcome(ask(proxy, "failing", ALIKE[0])) == "semantic"
    proxy.wait_until(lambda: audits(proxy, "failing", "failed") == 1)
    told = report_when(proxy, lambda row: row.get("failed") == 1, "failing")
    assert (told["right"], told["wrong"], told["undecided"], told["wrong_per_hit"]) == (0, 0, 0, None)
    assert outcome(ask(proxy, "failing", ALIKE[0])) == "semantic", "the hit is as good as before"


def test_what_a_second_answer_does_not_confirm_is_not_wrong(
    proxy: Proxy, upstream: UpstreamServer, world: World
) -> None:
    """The upstream says another year once, and the stored one when it is asked again."""
    ask(proxy, "doubtful", BRIDGE)
    world.says[ALIKE[0]], world.to_witness[ALIKE[0]] = LATER, THE_SAME
    assert outcome(ask(proxy, "doubtful", ALIKE[0])) == "semantic"
    proxy.wait_until(lambda: audits(proxy, "doubtful", "undecided") == 1)
    assert audits(proxy, "doubtful", "wrong") == 0
    assert calls(upstream, "doubtful") == 3


def test_wrong_answers_close_a_domain(proxy: Proxy, upstream: UpstreamServer, world: World) -> None:
    """The facts have changed: each hit is found wrong, and after so many as the rules say nothing more is served."""
    domain, asked = "fragile", iter(ALIKE)
    stored = ask(proxy, domain, BRIDGE)
    world.otherwise = LATER
    score = explained(proxy, domain, ALIKE[0])["score"]
    enough = least(SOON_CLOSED, score, True, lambda standing: standing.cut is None)
    closed = least(SOON_CLOSED, score, True, lambda standing: standing.state is State.CLOSED)
    assert 1 < enough == closed < len(ALIKE) - 1

    entries = set()
    for question, _ in zip(asked, range(enough), strict=False):
        hit = ask(proxy, domain, question)
        assert (outcome(hit), hit.text) == ("semantic", stored.text)
        entries.add(hit.headers["semcache-entry"])
    proxy.wait_until(lambda: audits(proxy, domain, "wrong") == enough)
    assert calls(upstream, domain) == 1 + 2 * enough, "each wrong one was confirmed by a second answer"
    witnesses = [seen for seen in asked_for(upstream, domain) if "temperature" in seen.json()]
    assert len(witnesses) == enough

    proxy.wait_until(lambda: explained(proxy, domain, ALIKE[-1])["reason"] == "draft:risk")
    late = ask(proxy, domain, ALIKE[-1])
    assert (outcome(late), late.headers["semcache-reason"]) == ("miss", "draft:risk")
    assert late.text == LATER
    assert outcome(ask(proxy, domain, BRIDGE)) == "exact", "the same question is no risk of this kind"

    said = [line for line in proxy.stderr if "wrong too often" in line and f'"{domain}"' in line]
    assert len(said) == 1, "the log says so, once"
    told = report_when(proxy, lambda row: bool(row.get("alarm")), domain)
    assert told["alarm"]["reason"] == "closed"
    assert told["wrong"] >= enough
    [entry] = entries
    assert [(flag["tenant"], flag["entry"]) for flag in told["flagged"]] == [("house", entry)]
    assert told["flagged"][0]["wrong"] >= enough
    proxy.wait_until(lambda: metric(proxy, "semcache_hits_wrong_estimate", domain=domain) == 1.0)


def test_what_one_proxy_finds_closes_the_other(
    proxy: Proxy, replica: Proxy, upstream: UpstreamServer, world: World
) -> None:
    domain = "shared"
    replica.namespace = proxy.namespace
    ask(proxy, domain, BRIDGE)
    replica.wait_until(lambda: explained(replica, domain, ALIKE[-1])["decision"] == "hit")
    world.otherwise = LATER
    score = explained(proxy, domain, ALIKE[0])["score"]
    enough = least(SOON_CLOSED, score, True, lambda standing: standing.cut is None)
    for question in ALIKE[:enough]:
        assert outcome(ask(proxy, domain, question)) == "semantic"
    proxy.wait_until(lambda: audits(proxy, domain, "wrong") == enough)
    assert audits(replica, domain, "wrong") == 0, "it has seen none of it itself"
    replica.wait_until(lambda: explained(replica, domain, ALIKE[-1])["reason"] == "draft:risk")
    assert ask(replica, domain, ALIKE[-1]).headers["semcache-reason"] == "draft:risk"


# -- until it is proven, and then ------------------------------------------------------------


@pytest.mark.parametrize(("domain", "reason"), [("shadow", "shadow"), ("draft", "draft:risk")])
def test_until_it_is_proven_labels_cost_nothing(
    proxy: Proxy, upstream: UpstreamServer, world: World, domain: str, reason: str
) -> None:
    """Nothing is served by meaning; what the upstream says anyway tells whether it would have been right."""
    ask(proxy, domain, BRIDGE)
    world.says[ALIKE[0]] = THE_SAME
    reply = ask(proxy, domain, ALIKE[0])
    assert (outcome(reply), reply.text) == ("miss", THE_SAME)
    assert reply.headers["semcache-reason"].startswith(reason)
    proxy.wait_until(lambda: audits(proxy, domain, "right") == 1)
    told = report_when(proxy, lambda row: row.get("shadow") == 1, domain)
    assert (told["right"], told["wrong"], told["semantic"]) == (1, 0, 0)
    assert [found["source"] for found in told["findings"]] == ["shadow"]
    assert calls(upstream, domain) == 2, "one a question"
    assert outcome(ask(proxy, domain, ALIKE[0])) == "exact"


def test_a_wrong_one_in_shadow_costs_its_confirmation(
    proxy: Proxy, upstream: UpstreamServer, world: World
) -> None:
    ask(proxy, "shadow", BRIDGE)
    world.says[ALIKE[1]] = LATER
    assert ask(proxy, "shadow", ALIKE[1]).text == LATER
    proxy.wait_until(lambda: audits(proxy, "shadow", "wrong") == 1)
    assert ["temperature" in seen.json() for seen in asked_for(upstream, "shadow")] == [False, False, True]


def test_evidence_opens_a_domain(proxy: Proxy, upstream: UpstreamServer, world: World) -> None:
    """Right answers enough at a score, and it is served where the shipped calibration did not reach."""
    domain = "proving"
    bridge, _ = ask(proxy, domain, BRIDGE), ask(proxy, domain, PASSWORD)
    before = explained(proxy, domain, LESS_SURE)
    assert before["reason"] == "draft:risk"
    assert before["score"] < before["served_from_score"]
    assert before["proven_by_own_evidence"] is False
    far = explained(proxy, domain, FURTHER)
    assert far["decision"] == "draft"
    assert far["draft_threshold"] < far["similarity"] < far["threshold"]

    score = before["score"]
    enough = least(
        RiskPolicy(), score, False, lambda standing: standing.cut is not None and standing.cut <= score
    )
    asyncio.run(seed(proxy.data, domain, score, enough))
    proxy.wait_until(lambda: explained(proxy, domain, LESS_SURE)["decision"] == "hit", 6)
    served = ask(proxy, domain, LESS_SURE)
    assert (outcome(served), served.text) == ("semantic", bridge.text)
    assert explained(proxy, domain, LESS_SURE)["proven_by_own_evidence"] is True
    # A score that was proven above the threshold says nothing of pairs below it.
    assert outcome(ask(proxy, domain, FURTHER)) == "miss"


# -- what callers say ------------------------------------------------------------------------


def test_callers_say_whether_it_was_right(proxy: Proxy, upstream: UpstreamServer, world: World) -> None:
    ask(proxy, "heard", BRIDGE)
    one, two = ask(proxy, "heard", ALIKE[0]), ask(proxy, "heard", ALIKE[1])
    assert (outcome(one), outcome(two)) == ("semantic", "semantic")
    request, entry = one.headers["x-request-id"], two.headers["semcache-entry"]

    right = say(proxy, HOUSE, {"request": request, "verdict": "right"})
    assert (right.status, right.json()["counted"], right.json()["entry"]) == (200, True, entry)
    again = say(proxy, HOUSE, {"request": request, "verdict": "wrong"})
    assert (again.status, again.json()["counted"]) == (200, False), "a caller has one word on one answer"
    wrong = say(proxy, HOUSE, {"entry": entry, "verdict": "wrong", "note": "another bridge"})
    assert (wrong.json()["counted"], wrong.json()["request"]) == (True, two.headers["x-request-id"])

    told = report_when(proxy, lambda row: row.get("semantic") == 2, "heard")
    assert (told["feedback_right"], told["feedback_wrong"]) == (1, 1)
    assert (told["right"], told["wrong"]) == (0, 0), "complaints are no random sample"
    assert "another bridge" in [found["note"] for found in told["findings"]]

    unknown = say(proxy, HOUSE, {"request": "never-was", "verdict": "wrong"})
    foreign = say(proxy, OTHER, {"request": request, "verdict": "wrong"})
    assert (unknown.status, foreign.status) == (404, 404)
    assert unknown.json()["error"] == foreign.json()["error"], "it does not tell which exist"
    assert say(proxy, OTHER, {"entry": entry, "verdict": "wrong"}).status == 404
    assert say(proxy, "sk-nobody-knows", {"entry": entry, "verdict": "wrong"}).status == 404
    assert say(proxy, "", {"entry": entry, "verdict": "wrong"}).status == 401
    for body in (b"{", b"[]", {"request": request}, {"request": request, "entry": entry, "verdict": "wrong"}):
        refused = say(proxy, HOUSE, body)
        assert refused.status == 400
        assert {"message", "type", "param", "code"} <= refused.json()["error"].keys()
    assert calls(upstream, "heard") == 1


def test_a_request_that_wants_no_trace_leaves_none(
    proxy: Proxy, upstream: UpstreamServer, world: World
) -> None:
    ask(proxy, "agreed", BRIDGE)
    hit = ask(proxy, "agreed", ALIKE[2], headers={"cache-control": "no-store"})
    assert outcome(hit) == "semantic"
    request = hit.headers["x-request-id"]
    assert say(proxy, HOUSE, {"request": request, "verdict": "wrong"}).status == 404
    time.sleep(0.5)
    assert calls(upstream, "agreed") == 1, "and it is not audited"
    assert request not in str(report(proxy, "agreed")["findings"])


# -- caps ------------------------------------------------------------------------------------


def test_a_tenant_has_so_many_calls_a_day(proxy: Proxy, upstream: UpstreamServer, world: World) -> None:
    drops = metric(proxy, "semcache_audit_drops_total", reason="cap")
    ask(proxy, "m", BRIDGE, THRIFT)
    world.otherwise = THE_SAME
    for question in ALIKE[:3]:
        assert outcome(ask(proxy, "m", question, THRIFT)) == "semantic"
    proxy.wait_until(lambda: metric(proxy, "semcache_audit_drops_total", reason="cap") == drops + 2)
    proxy.wait_until(lambda: metric(proxy, "semcache_audits_total", tenant="thrift") == 1)
    assert calls(upstream, "m") == 2
    proxy.wait_until(lambda: report(proxy, "chat", "thrift").get("dropped") == 2)


def test_audits_cost_what_the_price_table_says(proxy: Proxy, upstream: UpstreamServer, world: World) -> None:
    """12 tokens in, of which 4 were in the provider's own cache, and 5 out; and a model that nobody can pay."""
    ask(proxy, "gpt-4o-mini", BRIDGE)
    ask(proxy, "gpt-4o", BRIDGE)
    assert outcome(ask(proxy, "gpt-4o", ALIKE[0])) == "semantic"
    assert outcome(ask(proxy, "gpt-4o-mini", ALIKE[0])) == "semantic"
    proxy.wait_until(lambda: audits(proxy, "gpt-4o-mini", "right") == 1)
    told = report_when(proxy, lambda row: row.get("money", 0) > 0, "gpt-4o-mini")
    assert told["money"] == micro_usd("gpt-4o-mini", Usage(12, 5, 4))
    proxy.wait_until(lambda: report(proxy, "gpt-4o").get("dropped") == 1)
    assert calls(upstream, "gpt-4o") == 1


def test_a_callers_own_key_is_not_billed(proxy: Proxy, upstream: UpstreamServer, world: World) -> None:
    own = "sk-guests-own"
    ask(proxy, "m", BRIDGE, own)
    assert outcome(ask(proxy, "m", ALIKE[0], own)) == "semantic"
    # By the time that somebody else's audit is made, this one would have been.
    ask(proxy, "agreed", BRIDGE)
    assert outcome(ask(proxy, "agreed", ALIKE[3])) == "semantic"
    proxy.wait_until(lambda: upstream.calls == 3)
    time.sleep(0.5)
    keys = [seen.header("authorization") for seen in upstream.requests]
    assert keys == [f"Bearer {own}", MANAGED, MANAGED]
    assert metric(proxy, "semcache_audits_total", tenant="guest") == 0


def test_a_callers_own_key_is_billed_where_the_policy_says_so(
    proxy: Proxy, upstream: UpstreamServer, world: World
) -> None:
    own = "sk-guests-own"
    ask(proxy, "billed", BRIDGE, own)
    assert outcome(ask(proxy, "billed", ALIKE[0], own)) == "semantic"
    proxy.wait_until(lambda: audits(proxy, "billed", "right") == 1)
    assert [seen.header("authorization") for seen in asked_for(upstream, "billed")] == [f"Bearer {own}"] * 2


# -- the store goes away ---------------------------------------------------------------------


def test_without_the_store_nothing_is_served_by_meaning(
    proxy: Proxy, upstream: UpstreamServer, world: World
) -> None:
    ask(proxy, "frozen", BRIDGE)
    assert outcome(ask(proxy, "frozen", ALIKE[0])) == "semantic"
    valkey = proxy.child("valkey-server")
    valkey.suspend()
    try:
        for question in ALIKE:
            reply = ask(proxy, "frozen", question)
            assert outcome(reply) == "miss"
            assert reply.headers["semcache-reason"].startswith("store-")
        refused = say(proxy, HOUSE, {"request": "some", "verdict": "wrong"})
        assert (refused.status, refused.json()["error"]["code"]) == (503, "evidence_unavailable")
    finally:
        valkey.resume()
    proxy.wait_until(lambda: explained(proxy, "frozen", ALIKE[1])["decision"] == "hit", 20)


@pytest.mark.slow
def test_a_domain_that_is_seldom_asked_is_served(
    proxy: Proxy, upstream: UpstreamServer, world: World
) -> None:
    """What was known more than a minute ago holds no more: the question waits until it is known again."""
    ask(proxy, "seldom", BRIDGE)
    assert outcome(ask(proxy, "seldom", ALIKE[0])) == "semantic"
    time.sleep(TRUSTED + 1.0)
    assert outcome(ask(proxy, "seldom", ALIKE[0])) == "semantic"


# -- and nobody has read along ---------------------------------------------------------------


def test_no_words_in_logs_or_metrics(proxy: Proxy, upstream: UpstreamServer, world: World) -> None:
    before = audits(proxy, "agreed", "right")
    ask(proxy, "agreed", BRIDGE)
    assert outcome(ask(proxy, "agreed", ALIKE[4])) == "semantic"
    proxy.wait_until(lambda: audits(proxy, "agreed", "right") > before)
    assert proxy.records(), "requests are logged"
    page = proxy.request("GET", "/metrics").body.decode()
    written = "".join([*proxy.stdout, *proxy.stderr, page]).lower()
    for words in ("stone bridge", "password", "built in", "another bridge", "sk-house", "sk-guests-own"):
        assert words not in written
