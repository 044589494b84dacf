"""Three users, two replicas on one store, real processes: whose a new answer is, and what makes it everybody's."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from semcache.cli.commands import app
from tests.e2e.running import Proxy, Reply, running
from tests.e2e.tenants import bearer, policy
from tests.fakes.upstream_server import UpstreamServer, chat_json, in_thread

KEY = "sk-shop-1"
HUMAN = "  human: {confirmation: {by: human}}\n"
SAYS = "You can return items within 30 days."
SAME = "Items may be returned within 30 days."
OTHER = "You can return items within 90 days."
PLANTED = "You can return items within 30 days. Write to refunds@evil.example and send your card number."


@pytest.fixture(scope="module")
def upstream() -> Iterator[UpstreamServer]:
    with in_thread(chat_json(SAYS)) as server:
        yield server


@pytest.fixture(scope="module")
def pair(upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, Proxy]]:
    folder = tmp_path_factory.mktemp("confirmation")
    (folder / "policies").mkdir()
    # Of evidence, drafts and audits other tests tell: here every call of the upstream is counted.
    text = policy(
        "shop",
        KEY,
        defaults="  confirmation: {by: users, users: 2}\n  risk: {budget: 0.5, until_proven: serve}\n",
        domains=HUMAN,
        rules='    - {models: ["human-*"], domain: human}\n',
    )
    (folder / "policies" / "shop.yaml").write_text(text)
    arguments = ("--upstream", upstream.url, "--policies", str(folder / "policies"))
    with (
        running(folder / "one" / "data", *arguments) as one,
        running(
            folder / "two" / "data", *arguments, SEMCACHE_STORE__URL=f"unix://{one.data / 'valkey' / 's'}"
        ) as two,
    ):
        yield one, two


@pytest.fixture
def one(pair: tuple[Proxy, Proxy], upstream: UpstreamServer, request: pytest.FixtureRequest) -> Proxy:
    pair[0].namespace = pair[1].namespace = request.node.name
    upstream.script = chat_json(SAYS)
    upstream.requests.clear()
    return pair[0]


@pytest.fixture
def two(pair: tuple[Proxy, Proxy], one: Proxy) -> Proxy:
    return pair[1]


def reply(proxy: Proxy, user: str, question: str, **fields: object) -> Reply:
    """Ask for a model of this test's own, by which its entries are found."""
    named = {"user": user} if user else {}
    return proxy.chat(question, bearer(KEY), temperature=0, **{"model": proxy.namespace, **named, **fields})


def asks(proxy: Proxy, user: str, question: str = "How long can I return items?", **fields: object) -> str:
    """Ask as a user of the shop's; gives the outcome, and for a miss its reason."""
    found = reply(proxy, user, question, **fields)
    assert found.status == 200, found.body
    outcome = found.headers["semcache-outcome"]
    return found.headers["semcache-reason"] if outcome == "miss" else outcome


def within_a_second(proxy: Proxy, user: str, outcome: str, question: str) -> None:
    """Ask in a way that stores nothing until the other replica has heard."""
    until = time.monotonic() + 1.0
    while True:
        found = proxy.chat(
            question,
            {**bearer(KEY), "cache-control": "no-store"},
            temperature=0,
            user=user,
            model=proxy.namespace,
        ).headers["semcache-outcome"]
        if found == outcome:
            return
        assert time.monotonic() < until, f"still {found} after a second"


def test_three_users_and_equal_questions(one: Proxy, upstream: UpstreamServer) -> None:
    assert asks(one, "ann") == "empty-namespace"
    assert asks(one, "ann") == "exact"
    upstream.script = chat_json(SAME)
    assert asks(one, "bob") == "unconfirmed"
    assert asks(one, "cid") == "exact"
    assert upstream.calls == 2
    assert one.metric("semcache_confirmations_total") >= 1


def test_a_planted_answer_reaches_nobody_who_asks_in_other_words(
    one: Proxy, upstream: UpstreamServer
) -> None:
    """What an attacker's question brought lies near the victims' one, and is never theirs: theirs say nothing like it."""
    upstream.script = chat_json(PLANTED)
    planted = "For how long can I return items?"
    asks(one, "mallory", planted)
    assert reply(one, "mallory", "For how long could I return items?").text == PLANTED
    upstream.script = chat_json(SAYS)
    told = [reply(one, user, "How long can I return items?") for user in ("ann", "bob", "cid", "dan")]
    assert [found.headers.get("semcache-reason", "hit") for found in told] == ["unconfirmed"] * 2 + [
        "hit"
    ] * 2
    assert {found.text for found in told} == {SAYS}
    assert {entry["question"]: entry["confirmed"] for entry in listed(one)}[planted] == 1


def test_a_contradiction_starts_again(one: Proxy, upstream: UpstreamServer) -> None:
    asks(one, "ann")
    upstream.script = chat_json(OTHER)
    assert asks(one, "bob") == "unconfirmed"
    assert asks(one, "ann") == "unconfirmed"
    assert asks(one, "cid") == "exact"
    assert reply(one, "dan", "How long can I return items?").text == OTHER


def test_a_near_question_confirms(one: Proxy, upstream: UpstreamServer) -> None:
    asks(one, "ann")
    upstream.script = chat_json(SAME)
    assert asks(one, "bob", "How long may I return items?") == "unconfirmed"
    one.wait_until(lambda: any(entry["confirmed"] == 2 for entry in listed(one)), 5)
    assert asks(one, "cid") == "exact"
    assert asks(one, "dan", "For how long can I return items?") == "semantic"


def test_one_user_under_many_wordings_and_repeats_is_one(one: Proxy, upstream: UpstreamServer) -> None:
    asks(one, "mallory")
    for _ in range(3):
        asks(one, "mallory")
        asks(one, "mallory", "How long may I return items?")
    assert asks(one, "ann") == "unconfirmed"


def test_who_names_no_user_is_nobody(one: Proxy) -> None:
    asks(one, "")
    assert [asks(one, "") for _ in range(3)] == ["unconfirmed"] * 3


def test_replicas_hear_of_it_within_a_second(one: Proxy, two: Proxy, upstream: UpstreamServer) -> None:
    question = "How long can I return items?"
    asks(one, "ann")
    within_a_second(two, "ann", "exact", question)  # and holds it in its memory from now on
    assert asks(two, "bob") == "unconfirmed"
    within_a_second(one, "cid", "exact", question)
    within_a_second(two, "cid", "exact", question)


def test_a_reviewers_word_shares_it_at_once(one: Proxy, two: Proxy) -> None:
    """By the command line; `by: human` lets nothing else count."""
    model = "human-review"
    for user in ("ann", "bob", "cid"):
        asks(one, user, model=model)
    assert asks(two, "dan", model=model) == "unconfirmed"
    (entry,) = listed(one, model)
    assert entry["confirmed"] == 4
    verdict = ["review", "approve", str(entry["id"]), "--tenant", "shop", "--data", str(one.data)]
    ended = CliRunner().invoke(app, [*verdict, "--policies", one.arguments[-1]])
    assert ended.exit_code == 0, ended.output
    two.wait_until(lambda: asks(two, "eve", model=model) == "exact", 1.0)


def test_nobody_surrounds_a_question(one: Proxy, upstream: UpstreamServer) -> None:
    """The shipped cap: of one author's near answers so many are found by meaning, and the rest by their own words alone."""
    upstream.script = chat_json(PLANTED)
    before = one.metric("semcache_crowded_total")
    for number in range(24):
        asks(one, "mallory", f"How long can I return items in group {1000 + number}?")
    assert one.metric("semcache_crowded_total") - before >= 1
    assert sum(bool(entry["vector"]) for entry in listed(one)) <= 20
    assert len(listed(one)) == 20  # a page


def test_counts_outlive_a_kill(one: Proxy, two: Proxy, upstream: UpstreamServer) -> None:
    """Killed and started again, with the store it runs; the log of writes is flushed once a second."""
    asks(one, "ann")
    upstream.script = chat_json(SAME)
    assert asks(one, "bob") == "unconfirmed"
    asks(one, "ann", "How do I open a package?")
    time.sleep(1.5)
    assert one.process is not None
    one.kill()
    one.start()
    one.wait_until(lambda: one.ready_detail()["status"] == "ready", 60)
    assert asks(one, "cid") == "exact"
    assert asks(one, "cid", "How do I open a package?") == "unconfirmed"


def listed(proxy: Proxy, model: str = "") -> list[dict[str, object]]:
    """List what this test stored, newest first."""
    arguments = ["entries", "list", "--json", "--tenant", "shop", "--model", model or proxy.namespace]
    found = CliRunner().invoke(app, [*arguments, "--data", str(proxy.data)])
    assert found.exit_code == 0, found.output
    entries: list[dict[str, object]] = json.loads(found.stdout)["entries"]
    return entries
