"""Two tenants with keys behind one proxy that listens on all addresses; policies change while it runs."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from semcache.core import EntryId, ReviewStatus, TenantId
from semcache.process import SystemClock
from semcache.store.redis_store import RedisStore, StoreRules
from tests.e2e.running import Proxy, Reply, running
from tests.e2e.tenants import ALPHA, ALPHA_OLD, BETA, PolicyFolder, alpha, bearer, policy
from tests.fakes.upstream_server import UpstreamServer, chat_json

A, B = bearer(ALPHA), bearer(BETA)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> PolicyFolder:
    return PolicyFolder(tmp_path_factory.mktemp("tenants") / "policies")


@pytest.fixture(scope="module")
def proxy(
    upstream: UpstreamServer, files: PolicyFolder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    data = tmp_path_factory.mktemp("proxy") / "data"
    managed = data.parent / "config.yaml"
    managed.write_text(
        f"default_upstream: main\nupstreams:\n  main: {{base_url: '{upstream.url}', api_key: 'env:TEST_MANAGED_KEY'}}\n"
    )
    arguments = ("--config", str(managed), "--policies", str(files.folder), "--host", "0.0.0.0")
    with running(data, *arguments, TEST_MANAGED_KEY="sk-managed") as started:
        yield started


@pytest.fixture
def changed(proxy: Proxy, files: PolicyFolder) -> Iterator[PolicyFolder]:
    """The policy files, put back afterwards."""
    yield files
    files.reset()
    proxy.wait_until(lambda: not proxy.ready_detail()["policy_error"])
    proxy.wait_until(lambda: proxy.chat("Back?", bearer(ALPHA_OLD)).status == 200)
    proxy.wait_until(lambda: proxy.outcome("Back?", A) == "exact")


# -- who may come in ------------------------------------------------------------------------


def test_tenants_share_nothing_in_any_tier(proxy: Proxy, upstream: UpstreamServer) -> None:
    first = proxy.chat("What is our travel budget?", A)
    assert proxy.outcome("What is our travel budget?", A) == "exact"
    assert proxy.outcome("What's our travel budget?", A) == "semantic"
    upstream.script = chat_json("something else")
    assert proxy.outcome("What is our travel budget?", B) == "miss"
    assert proxy.chat("What's our travel budget?", B).text == "something else"
    assert proxy.chat("What is our travel budget?", A).text == first.text
    assert upstream.calls == 2


def test_a_long_question_of_another_tenant_finds_no_candidate(proxy: Proxy) -> None:
    question = "Our handbook says that guests are met at the door. " * 10 + "How are guests met?"
    assert proxy.outcome(question, A) == "miss"
    assert proxy.outcome(question, A) == "exact"
    reply = proxy.chat(question, B)
    assert (reply.headers["semcache-outcome"], reply.headers["semcache-reason"]) == (
        "miss",
        "empty-namespace",
    )


def test_two_keys_of_one_tenant_share(proxy: Proxy) -> None:
    assert proxy.outcome("Shared by keys?", A) == "miss"
    assert proxy.outcome("Shared by keys?", bearer(ALPHA_OLD)) == "exact"
    assert proxy.outcome("Shared by keys?", {"x-api-key": ALPHA}) == "exact"


def test_a_namespace_lies_below_the_tenant(proxy: Proxy, upstream: UpstreamServer) -> None:
    shared = {"semcache-namespace": "shared"}
    assert proxy.outcome("In a shared space?", {**A, **shared}) == "miss"
    assert proxy.outcome("In a shared space?", {**A, **shared}) == "exact"
    assert proxy.outcome("In a shared space?", {**B, **shared}) == "miss"
    assert proxy.outcome("In a shared space?", {**A, "semcache-namespace": "other"}) == "miss"
    assert upstream.calls == 3


def test_tenants_never_share_a_call_in_flight(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = chat_json("slow", delay=0.5)
    outcomes: list[str] = []

    def ask(headers: dict[str, str]) -> None:
        outcomes.append(proxy.outcome("At the same time?", headers))

    threads = [threading.Thread(target=ask, args=(headers,)) for headers in (A, B, A, B)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == ["miss"] * 4
    assert upstream.calls == 2


def refusal(reply: Reply) -> tuple[int, bytes, str | None]:
    return reply.status, reply.body, reply.headers.get("www-authenticate")


@pytest.mark.event(10)
def test_no_key_and_wrong_keys_are_refused_in_the_same_words(proxy: Proxy, upstream: UpstreamServer) -> None:
    proxy.chat("Behind the door?", A)
    upstream.requests.clear()
    wrong: list[dict[str, str]] = [
        {},
        bearer("sk-alpha-3"),
        bearer(ALPHA.upper()),
        bearer("x" * 20_000),
        bearer("' OR 1=1 --"),
        {"authorization": f"Basic {ALPHA}"},
        {"authorization": ALPHA},
        {**bearer(ALPHA), "x-api-key": BETA},
        {"semcache-tenant": "alpha"},
        {"x-forwarded-for": "127.0.0.1"},
    ]
    refusals = {refusal(proxy.chat("Behind the door?", headers)) for headers in wrong}
    assert len(refusals) == 1
    status, body, challenge = refusals.pop()
    assert (status, challenge) == (401, "Bearer")
    assert b"invalid_api_key" in body
    assert refusal(proxy.request("GET", "/v1/models")) == (status, body, challenge)
    assert upstream.calls == 0
    assert not any(ALPHA in line or "OR 1=1" in line for line in [*proxy.stdout, *proxy.stderr])


@pytest.mark.event(9)
def test_what_a_client_says_of_itself_counts_for_nothing(proxy: Proxy, upstream: UpstreamServer) -> None:
    proxy.chat("Who am I?", A)
    claims = {
        "semcache-tenant": "alpha",
        "semcache-principal": "x",
        "x-forwarded-for": "10.0.0.1",
        "x-forwarded-user": "alpha",
        "forwarded": "for=10.0.0.1;host=alpha",
        "x-real-ip": "10.0.0.1",
        "cookie": "tenant=alpha",
    }
    assert proxy.outcome("Who am I?", {**B, **claims}) == "miss"
    assert proxy.outcome("Who am I?", {**A, **claims}) == "exact"
    assert proxy.records()[-1]["tenant"] == "alpha"
    sent = {name.decode().lower() for name, _ in upstream.requests[-1].headers}
    assert not sent & {
        "semcache-tenant",
        "x-forwarded-for",
        "forwarded",
        "x-real-ip",
        "cookie",
        "semcache-namespace",
    }


def test_the_managed_key_goes_upstream_and_the_clients_key_stays_here(
    proxy: Proxy, upstream: UpstreamServer
) -> None:
    proxy.chat("Whose key is sent?", A)
    proxy.request("GET", "/v1/models", headers={"x-api-key": BETA})
    assert [seen.target for seen in upstream.requests] == ["/v1/chat/completions", "/v1/models"]
    assert [seen.header("authorization") for seen in upstream.requests] == ["Bearer sk-managed"] * 2
    assert all(ALPHA.encode() not in value for seen in upstream.requests for _, value in seen.headers)
    assert upstream.requests[1].header("x-api-key") is None


def test_records_name_the_key_and_never_hold_it(proxy: Proxy) -> None:
    proxy.chat("Which key was it?", bearer(ALPHA_OLD))
    record = proxy.records()[-1]
    assert (record["tenant"], record["key_name"]) == ("alpha", "key1")


# -- who shares what ------------------------------------------------------------------------


def test_scope_user_keeps_end_users_apart(proxy: Proxy, upstream: UpstreamServer) -> None:
    question = "How many days of leave do I have left?"

    def ask(header: str = "", user: str = "") -> Reply:
        headers = {**A, **({"semcache-user": header} if header else {})}
        return proxy.chat(question, headers, model="personal-1", **({"user": user} if user else {}))

    def outcome(**who: str) -> str:
        return ask(**who).headers["semcache-outcome"]

    assert outcome(user="ann") == "miss"
    assert outcome(user="ann") == "exact"
    assert outcome(user="bob") == "miss"
    assert outcome(header="ann") == "exact", "the header and the field name the same user"
    assert outcome(header="bob", user="ann") == "exact", "the header wins over the field"
    nameless = ask()
    assert nameless.headers["semcache-outcome"] == "bypass"
    assert outcome() == "bypass"
    calls = upstream.calls
    upstream.script = chat_json("for nobody")
    assert ask().text == "for nobody"
    assert upstream.calls == calls + 1


def test_a_client_may_narrow_the_scope_of_its_own_request(proxy: Proxy) -> None:
    assert proxy.outcome("A tenant's answer?", A) == "miss"
    assert proxy.outcome("A tenant's answer?", {**A, "semcache-user": "ann"}) == "miss"
    assert proxy.outcome("A tenant's answer?", {**A, "semcache-user": "ann"}) == "exact"
    assert proxy.outcome("A tenant's answer?", A, user="ann") == "exact", "the field alone narrows nothing"


# -- what a domain allows -------------------------------------------------------------------


def test_mode_exact_serves_equal_requests_only(proxy: Proxy) -> None:
    assert proxy.outcome("How do I open the settings?", A, model="equal-1") == "miss"
    assert proxy.outcome("How can I open the settings?", A, model="equal-1") == "miss"
    assert proxy.outcome("How do I open the settings?", A, model="equal-1") == "exact"


def test_mode_off_takes_no_part(proxy: Proxy, upstream: UpstreamServer) -> None:
    for _ in range(3):
        assert proxy.outcome("Is the cache off?", A, model="none-1") == "bypass"
    assert upstream.calls == 3


def test_shadow_mode_decides_and_records_and_serves_nothing(proxy: Proxy, upstream: UpstreamServer) -> None:
    assert proxy.outcome("How do I reset my router?", A, model="trial-1") == "miss"
    for question, tier in (
        ("How do I reset my router?", "exact"),
        ("How can I reset my router?", "semantic"),
    ):
        reply = proxy.chat(question, A, model="trial-1", stream=tier == "semantic")
        assert reply.headers["semcache-outcome"] == "miss"
        assert reply.headers["semcache-reason"] == f"shadow-{tier}"
        assert "semcache-entry" not in reply.headers
        record = proxy.records()[-1]
        assert (record["outcome"], record["shadow"]) == ("miss", tier)
        assert record["entry_id"]
    assert upstream.calls == 3
    assert proxy.metric("semcache_shadow_hits_total") == 2
    refused = proxy.chat(
        "How do I reset my router?", {**A, "cache-control": "only-if-cached"}, model="trial-1"
    )
    assert refused.status == 504


def test_a_client_can_only_tighten(proxy: Proxy) -> None:
    proxy.chat("How do I rename a folder?", A)
    asked = "How can I rename a folder?"
    unkept = {**A, "cache-control": "no-store"}
    assert proxy.outcome(asked, {**unkept, "semcache-threshold": "0.9999"}) == "miss"
    assert proxy.outcome(asked, {**unkept, "semcache-domain": "strict"}) == "miss"
    assert proxy.outcome(asked, {**unkept, "semcache-domain": "equal"}) == "miss"
    assert proxy.outcome(asked, unkept) == "semantic"
    # Nothing that is asked for opens what the policy has closed.
    loose = {**unkept, "semcache-threshold": "0.0", "semcache-domain": "chat", "semcache-mode": "auto"}
    assert proxy.outcome("How should one name a new folder?", loose) == "miss"
    assert proxy.outcome(asked, loose, model="equal-1") == "miss"
    assert proxy.outcome(asked, loose, model="none-1") == "bypass"
    unknown = proxy.chat(asked, {**B, "semcache-domain": "strict"})
    assert (unknown.status, unknown.json()["error"]["code"]) == (400, "unknown_domain")


def test_a_client_can_shorten_a_life_and_not_lengthen_it(proxy: Proxy) -> None:
    proxy.chat("How long do I live?", {**A, "semcache-ttl": "999999999"})
    hit = proxy.chat("How long do I live?", A)
    ttl = int(hit.headers["cache-status"].partition("ttl=")[2].partition(";")[0])
    assert ttl <= 86400 * 1.1
    proxy.chat("How briefly do I live?", {**A, "semcache-ttl": "1"})
    assert proxy.outcome("How briefly do I live?", A) == "exact"
    proxy.wait_until(
        lambda: proxy.outcome("How briefly do I live?", {**A, "cache-control": "no-store"}) == "miss", 5
    )


def test_an_approved_answer_is_served_at_the_lower_threshold(proxy: Proxy) -> None:
    stored, asked = "How do I reset my password?", "How can I reset my password?"
    proxy.chat(stored, A, model="approved-1")
    unkept = {**A, "cache-control": "no-store"}
    assert proxy.outcome(asked, unkept, model="approved-1") == "miss"
    entry_id = proxy.chat(stored, A, model="approved-1").headers["semcache-entry"]

    async def approve(status: ReviewStatus) -> None:
        store = RedisStore(f"unix://{proxy.data / 'valkey' / 's'}", SystemClock(), StoreRules())
        try:
            entry = await store.show(TenantId("alpha"), EntryId(entry_id))
            assert entry is not None
            assert await store.put(replace(entry, status=status, version=entry.version + 1))
        finally:
            await store.aclose()

    asyncio.run(approve(ReviewStatus.APPROVED))
    reply = proxy.chat(asked, unkept, model="approved-1")
    assert (reply.headers["semcache-outcome"], reply.headers["semcache-verified"]) == ("semantic", "?1")
    proxy.wait_until(lambda: "semcache-verified" in proxy.chat(stored, A, model="approved-1").headers, 2)
    asyncio.run(approve(ReviewStatus.REJECTED))
    proxy.wait_until(lambda: proxy.outcome(stored, unkept, model="approved-1") == "miss", 2)
    assert proxy.outcome(asked, unkept, model="approved-1") == "miss"


# -- policies change while the proxy runs ---------------------------------------------------


def test_a_revoked_key_is_refused_like_any_other(
    proxy: Proxy, changed: PolicyFolder, upstream: UpstreamServer
) -> None:
    proxy.chat("Stored under a key?", bearer(ALPHA_OLD))
    assert changed.change(proxy, "alpha", alpha(ALPHA)) == ""
    upstream.requests.clear()
    refusals = {
        refusal(proxy.chat("Stored under a key?", headers))
        for headers in (bearer(ALPHA_OLD), {}, bearer("sk-unknown"))
    }
    assert [status for status, *_ in refusals] == [401]
    assert upstream.calls == 0
    assert proxy.outcome("Stored under a key?", A) == "exact", "the tenant's answers stay the tenant's"


def test_a_broken_file_leaves_the_last_good_set_in_force(proxy: Proxy, changed: PolicyFolder) -> None:
    proxy.chat("Before the mistake?", A)
    problem = changed.change(proxy, "alpha", alpha(ALPHA, defaults="  tresholds: 0.5\n"))
    assert "alpha.yaml:" in problem
    assert "tresholds" in problem
    ready = proxy.request("GET", "/readyz")
    assert (ready.status, ready.json()["degraded"]) == (200, ["policies"])
    assert proxy.metric("semcache_degraded_policies") == 1
    assert proxy.outcome("Before the mistake?", A) == "exact"
    assert proxy.chat("Still let in?", bearer(ALPHA_OLD)).status == 200
    assert changed.change(proxy, "alpha", alpha(ALPHA)) == ""
    assert proxy.ready_detail()["status"] == "ready"
    assert proxy.chat("Not any more?", bearer(ALPHA_OLD)).status == 401


def test_a_vanished_file_is_an_accident_until_somebody_means_it(proxy: Proxy, changed: PolicyFolder) -> None:
    (changed.folder / "beta.yaml").unlink()
    proxy.wait_until(lambda: "policies" in proxy.ready_detail()["degraded"])
    assert "beta" in proxy.ready_detail()["policy_error"]
    assert proxy.chat("Is beta still here?", B).status == 200
    assert proxy.process is not None
    proxy.process.send_signal(signal.SIGHUP)
    proxy.wait_until(lambda: proxy.ready_detail()["status"] == "ready")
    assert proxy.chat("Is beta still here?", B).status == 401
    assert proxy.chat("Is alpha still here?", A).status == 200


def test_an_upstream_that_is_not_configured_is_refused(proxy: Proxy, changed: PolicyFolder) -> None:
    problem = changed.change(proxy, "alpha", alpha(ALPHA, more="upstream: elsewhere\n"))
    assert "alpha.yaml:" in problem
    assert "main" in problem
    assert proxy.chat("Does the old set still answer?", A).status == 200


def test_a_tightened_policy_is_in_force_at_once(proxy: Proxy, changed: PolicyFolder) -> None:
    question, other = "How do I paint a wall?", "How can I paint a wall?"
    unkept = {**A, "cache-control": "no-store"}
    proxy.chat(question, A)
    assert proxy.outcome(other, unkept) == "semantic"
    assert changed.change(proxy, "alpha", alpha(ALPHA).replace("0.92", "0.9999")) == ""
    assert proxy.outcome(other, unkept) == "miss"
    assert proxy.outcome(question, unkept) == "exact"
    assert changed.change(proxy, "alpha", alpha(ALPHA, defaults="  max_age: 0.001\n")) == ""
    assert proxy.outcome(question, unkept) == "miss"
    assert changed.change(proxy, "alpha", alpha(ALPHA).replace("mode: semantic", 'mode: "off"')) == ""
    assert proxy.outcome(question, A) == "bypass"
    assert changed.change(proxy, "alpha", alpha(ALPHA)) == ""
    assert proxy.outcome(other, unkept) == "semantic", "what was stored is not lost by a stricter hour"


# -- starting -------------------------------------------------------------------------------


def serve(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "semcache", "serve", "--port", "0", *arguments]
    return subprocess.run(
        command, cwd=cwd, env={**os.environ}, capture_output=True, text=True, timeout=60, check=False
    )


def test_listening_for_everybody_is_refused_without_keys(tmp_path: Path) -> None:
    ended = serve("--host", "0.0.0.0", "--data", "data", cwd=tmp_path)
    assert ended.returncode == 1
    assert "semcache keys new" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "data" / "valkey").exists()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("default_domain: chat", "default_domain: chatt"),
        ("tenant: alpha", "tenant: alpha\nupstream: elsewhere"),
    ],
)
def test_a_policy_that_cannot_hold_ends_the_start_with_its_place(
    tmp_path: Path, right: str, wrong: str
) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "alpha.yaml").write_text(policy("alpha", ALPHA).replace(right, wrong))
    ended = serve("--policies", str(folder), cwd=tmp_path)
    assert ended.returncode == 1
    assert "alpha.yaml:" in ended.stderr
    assert wrong.rpartition("\n")[2].partition(":")[0] in ended.stderr
    assert "Traceback" not in ended.stderr
