"""New answers through the pipeline, with fakes at every port: whose they are, what confirms them, what takes their place."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from semcache.confirming import Told
from semcache.core import Caller, Directives, Entry, ReviewStatus, TenantId
from semcache.dialects.chat.request import parse_chat
from semcache.errors import StoreError
from semcache.journey import Asked, Served
from semcache.policy.loader import load_directory
from semcache.ports import Selector
from semcache.proxy.own import explained
from semcache.proxy.status import told
from tests.fakes.generator import FakeReply
from tests.fakes.upstream_server import chat_body
from tests.test_pipeline import ACME, Scene

POLICY = """
schema_version: 1
tenant: acme
access: {keys: [], anonymous: loopback}
default_domain: loose
defaults: {ttl: 1h, ttl_jitter: 0, mode: semantic, threshold: 0.92, draft_threshold: 0.6}
domains:
  chat: {confirmation: {by: users, users: 2}}
  three: {confirmation: {by: users, users: 3}}
  human: {confirmation: {by: human}}
  loose: {confirmation: {by: none}}
  equal: {mode: exact, confirmation: {by: users}}
  own: {scope: user, confirmation: {by: human}}
classifier: {enabled: false}
"""
KEYED = Caller(ACME, key_name="website")
QUESTION = "how long can I return items that I bought in your shop please"
NEAR = "How long can I return items that I bought in your shop, please?"
SAYS = "You can return items within 30 days."
SAME = "Items may be returned within 30 days."
OTHER = "You can return items within 90 days."
UNCLEAR = "That depends."


class Heard(Told):
    """What was told."""

    def __init__(self) -> None:
        self.results: list[str] = []
        self.crowds = 0

    def confirmed(self, tenant: TenantId, result: str) -> None:
        assert tenant == ACME
        self.results.append(result)

    def crowded(self, tenant: TenantId) -> None:
        assert tenant == ACME
        self.crowds += 1


class Shop(Scene):
    """A scene whose upstream says what a test wants; every caller comes with a key."""

    says = SAYS

    def hear(self) -> Heard:
        heard = Heard()
        memory = replace(self.pipeline.memory, told=heard)
        self.pipeline = replace(self.pipeline, memory=memory)
        return heard

    def _reply(self, call: Any) -> FakeReply:
        del call
        return FakeReply(parts=[json.dumps(chat_body(self.says)).encode()])

    async def asks(self, user: str, question: str = QUESTION, **wishes: Any) -> str:
        """Ask as a named user; gives the outcome and its reason."""
        wishes.setdefault("caller", KEYED)
        wishes.setdefault("domain", "chat")
        answer = await self.ask(question, user=user, **wishes)
        await self.settle()
        found = told(answer.trace)
        return f"{found.outcome}:{found.reason}"

    async def settle(self) -> None:
        await asyncio.gather(*self.tasks)

    async def held(self) -> list[Entry]:
        return [entry async for entry in self.store.scan(ACME)]


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    (tmp_path / "acme.yaml").write_text(POLICY)
    made = Shop(load_directory(tmp_path))
    yield made
    for task in made.tasks:
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)


# -- equal questions ------------------------------------------------------------------------


async def test_a_new_answer_is_its_authors_until_a_second_user_got_the_same(shop: Shop) -> None:
    heard = shop.hear()
    assert (await shop.asks("ann")).startswith("miss:empty")
    assert await shop.asks("ann") == "exact:hit"
    shop.says = SAME
    assert await shop.asks("bob") == "miss:unconfirmed"
    assert heard.results == ["agreed"]
    assert (await shop.asks("bob"), await shop.asks("cid")) == ("exact:hit", "exact:hit")
    (entry,) = await shop.held()
    assert json.loads(entry.completion.body)["choices"][0]["message"]["content"] == SAYS
    assert len(entry.confirmed) == 2
    assert shop.calls == 2


async def test_the_author_gets_their_own_by_meaning_too(shop: Shop) -> None:
    await shop.asks("ann")
    assert await shop.asks("ann", NEAR) == "semantic:hit"
    assert await shop.asks("bob", NEAR) == "miss:unconfirmed"


async def test_an_answer_that_contradicts_takes_the_place_and_begins_at_its_author(shop: Shop) -> None:
    heard = shop.hear()
    await shop.asks("ann")
    shop.says = OTHER
    assert await shop.asks("bob") == "miss:unconfirmed"
    assert heard.results == ["contradicted"]
    (entry,) = await shop.held()
    assert OTHER in entry.completion.body.decode()
    assert len(entry.confirmed) == 1
    assert (await shop.asks("bob"), await shop.asks("ann")) == ("exact:hit", "miss:unconfirmed")


async def test_an_answer_of_which_nothing_can_be_said_does_not_contradict(shop: Shop) -> None:
    await shop.asks("ann")
    shop.says = UNCLEAR
    await shop.asks("bob")
    assert await shop.asks("cid") == "exact:hit"


async def test_the_same_user_twice_is_one_user(shop: Shop) -> None:
    await shop.asks("ann", domain="three")
    for _ in range(3):
        await shop.asks("bob", domain="three")
    assert await shop.asks("cid", domain="three") == "miss:unconfirmed"
    assert await shop.asks("dan", domain="three") == "exact:hit"
    assert shop.calls == 3


@pytest.mark.parametrize(
    "caller",
    [Caller(ACME), Caller(ACME, principal="p1", authorization="Bearer x")],
    ids=["anonymous", "own key"],
)
async def test_names_that_no_key_of_the_tenants_vouches_for_confirm_nothing(
    shop: Shop, caller: Caller
) -> None:
    heard = shop.hear()
    await shop.asks("mallory 0", caller=caller)
    for number in range(1, 6):
        assert await shop.asks(f"mallory {number}", caller=caller) == "miss:unconfirmed"
    assert heard.results == ["uncounted"] * 5
    assert await shop.asks("mallory 0", caller=caller) == "exact:hit"
    assert [entry.confirmed for entry in await shop.held()] == [frozenset()]


async def test_callers_who_name_no_user_are_nobody_in_particular(shop: Shop) -> None:
    await shop.asks("")
    assert await shop.asks("") == "miss:unconfirmed"
    assert await shop.asks("") == "miss:unconfirmed"
    # Two who are somebody make it everybody's.
    await shop.asks("ann")
    assert await shop.asks("bob") == "miss:unconfirmed"
    assert await shop.asks("") == "exact:hit"


async def test_only_humans_count_where_the_policy_says_so(shop: Shop) -> None:
    for user in ("ann", "bob", "cid", "dan"):
        await shop.asks(user, domain="human")
    assert await shop.asks("eve", domain="human") == "miss:unconfirmed"
    (entry,) = await shop.held()
    assert len(entry.confirmed) == 5  # a reviewer sees it
    edition = shop.snapshot.tenant(ACME).domains["human"].edition
    review = dataclasses.replace(entry.review, by="kim", edition=edition)
    assert await shop.store.put(
        replace(entry, status=ReviewStatus.APPROVED, version=entry.version + 1, review=review)
    )
    assert await shop.asks("fay", domain="human") == "exact:hit"


async def test_the_rule_in_force_is_todays(shop: Shop, tmp_path: Path) -> None:
    await shop.asks("ann", domain="loose")
    assert await shop.asks("bob", domain="loose") == "exact:hit"
    tighter = POLICY.replace("loose: {confirmation: {by: none}}", "loose: {confirmation: {by: users}}")
    (tmp_path / "acme.yaml").write_text(tighter)
    shop.snapshot = load_directory(tmp_path)
    assert await shop.asks("bob", domain="loose") == "miss:unconfirmed"
    assert await shop.asks("cid", domain="loose") == "exact:hit"


async def test_the_rule_of_the_domain_that_an_answer_was_stored_under_holds_for_equal_questions(
    shop: Shop,
) -> None:
    """An equal question is not classified again: a stricter domain that was found then still counts."""
    await shop.asks("ann", domain="human")
    (entry,) = await shop.held()
    assert entry.domain == "human"
    assert await shop.asks("bob", domain="loose") == "miss:unconfirmed"


async def test_where_each_user_has_their_own_nothing_changes(shop: Shop) -> None:
    assert (await shop.asks("ann", domain="own")).startswith("miss")
    assert await shop.asks("ann", domain="own") == "exact:hit"


async def test_a_held_answer_is_checked_too(shop: Shop) -> None:
    """What this process served its author from memory is not served to others from there."""
    await shop.asks("ann")
    await shop.asks("ann")
    assert shop.near.size[0] == 1
    assert await shop.asks("bob") == "miss:unconfirmed"


async def test_who_wants_a_fresh_answer_takes_nothing_from_the_others(shop: Shop) -> None:
    shop.alive = False  # nobody tells this process of changes here
    await shop.asks("ann")
    await shop.asks("bob")
    shop.says = SAME
    assert await shop.asks("mallory", no_read=True) == "miss:no-cache"
    assert await shop.asks("cid") == "exact:hit"
    shop.says = OTHER
    await shop.asks("mallory", no_read=True)
    assert await shop.asks("cid") == "miss:unconfirmed"


@pytest.mark.parametrize("wish", [{"no_read": True}, {"max_age": 0.0}])
async def test_no_wish_of_one_user_starts_the_count_of_others_again(shop: Shop, wish: dict[str, Any]) -> None:
    shop.alive = False
    for user in ("ann", "bob"):
        await shop.asks(user)
    shop.clock.at += 5
    for _ in range(3):
        assert (await shop.asks("mallory", **wish)).startswith("miss")
    (entry,) = await shop.held()
    assert len(entry.confirmed) == 3
    assert await shop.asks("cid") == "exact:hit"


@pytest.mark.parametrize("domain", ["chat", "loose"])
async def test_an_answer_that_is_one_persons_takes_no_shared_one_from_the_others(
    shop: Shop, domain: str
) -> None:
    shop.alive = False
    for user in ("ann", "bob"):
        await shop.asks(user, domain=domain)
    shop.says = "Write to mallory.grey@quickmail.net."
    assert (await shop.asks("mallory", no_read=True, domain=domain)).startswith("miss")
    assert await shop.asks("cid", domain=domain) == "exact:hit"
    # Where nothing is shared, what is hers is kept for her, and replaced by what is newer.
    await shop.store.delete(Selector(ACME))
    for _ in range(2):
        shop.clock.at += 1
        assert (await shop.asks("mallory", no_read=True, domain=domain)).startswith("miss")
    (entry,) = await shop.held()
    assert (entry.review.only, entry.created_at) == (entry.author, shop.clock.at)


async def test_who_wants_nothing_kept_confirms_nothing(shop: Shop) -> None:
    await shop.asks("ann")
    assert await shop.asks("bob", no_store=True) == "miss:unconfirmed"
    assert await shop.asks("cid") == "miss:unconfirmed"


async def test_a_store_that_fails_then_loses_no_answer(shop: Shop) -> None:
    await shop.asks("ann")

    async def failing(entry: Entry, user: str) -> bool:
        raise StoreError("down", kind="down")

    shop.store.confirm = failing  # type: ignore[method-assign] # a fault of this one call
    answer = await shop.ask(QUESTION, user="bob", caller=KEYED, domain="chat")
    assert SAYS in shop.body.decode()
    assert "store:down" in answer.trace.faults


async def test_an_answer_that_is_gone_meanwhile_is_stored_anew(shop: Shop) -> None:
    await shop.asks("ann")
    real = shop.store.confirm

    async def late(entry: Entry, user: str) -> bool:
        await shop.store.delete(Selector(ACME, model="m"))
        return await real(entry, user)

    shop.store.confirm = late  # type: ignore[method-assign] # something happens in between
    await shop.asks("bob")
    # Invalidated while it was asked: neither the old answer nor one that was begun before.
    assert await shop.held() == []


# -- near questions -------------------------------------------------------------------------


async def test_a_near_question_confirms_and_is_stored_too(shop: Shop) -> None:
    heard = shop.hear()
    await shop.asks("ann")
    shop.says = SAME
    assert await shop.asks("bob", NEAR) == "miss:unconfirmed"
    assert heard.results == ["agreed"]
    first, second = sorted(await shop.held(), key=lambda entry: len(entry.confirmed))
    assert (len(first.confirmed), len(second.confirmed)) == (1, 2)
    assert second.prompt == QUESTION
    assert await shop.asks("cid") == "exact:hit"
    # Of that text bob's own answer stands there, which is new.
    assert await shop.asks("cid", NEAR) == "miss:unconfirmed"
    assert await shop.asks("dan", f"{NEAR[:-1]} now?") == "semantic:hit"


@pytest.mark.parametrize("says", [OTHER, UNCLEAR, f"{SAME} See evil.example for more."])
async def test_another_answer_to_a_near_question_confirms_nothing(shop: Shop, says: str) -> None:
    shop.says = says
    await shop.asks("mallory")
    shop.says = SAME
    assert await shop.asks("bob", NEAR) == "miss:unconfirmed"
    assert [len(entry.confirmed) for entry in await shop.held()] == [1, 1]


async def test_in_mode_exact_equal_questions_confirm_all_the_same(shop: Shop) -> None:
    await shop.asks("ann", domain="equal")
    assert await shop.asks("bob", domain="equal") == "miss:unconfirmed"
    assert await shop.asks("cid", domain="equal") == "exact:hit"


async def test_who_lies_nearest_keeps_no_others_apart(shop: Shop) -> None:
    """A planted answer at the very place of a question cannot stand between those who ask it and what they got."""
    shop.says = OTHER
    await shop.asks("mallory", "How long can I return items that I bought in your shop please?")
    shop.says = SAYS
    await shop.asks("ann", NEAR)
    await shop.asks("bob", "how long can I return items, that I bought in your shop please")
    confirmed = {entry.author: len(entry.confirmed) for entry in await shop.held()}
    assert sorted(confirmed.values()) == [1, 1, 2]
    assert (
        await shop.asks("cid", "How long can I return items that I bought in your shop, please? ")
        == "exact:hit"
    )


# -- two at once ----------------------------------------------------------------------------


async def test_who_shares_a_call_is_answered_and_counts_for_nothing(shop: Shop) -> None:
    """It is one answer of the model, made for this very question: who made the call is its author, the others only got it."""
    both = await asyncio.gather(
        *(shop.ask(QUESTION, user=user, caller=KEYED, domain="chat") for user in ("ann", "bob"))
    )
    await shop.settle()
    assert shop.calls == 1
    assert not any(isinstance(answer, Served) for answer in both)
    (entry,) = await shop.held()
    assert len(entry.confirmed) == 1
    assert await shop.asks("cid") == "miss:unconfirmed"


async def test_explain_tells_it_and_changes_nothing(shop: Shop) -> None:
    await shop.asks("ann")
    body = {"model": "m", "messages": [{"role": "user", "content": QUESTION}], "user": "bob"}
    asked = Asked(parse_chat(body, "/v1/chat/completions"), KEYED, Directives(domain="chat"))
    shown = explained(await shop.pipeline.explain(asked))
    assert (shown["reason"], shown["entry_confirmed"], shown["confirmation"]) == ("unconfirmed", 1, "users")
    assert shop.calls == 1
