"""What the local engine is told beside the client's words, what other upstreams are not, and what is remembered."""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from semcache.answer.owners import Owners
from semcache.answer.warmbook import WarmBook
from semcache.calling import call_of
from semcache.core import Caller, Directives, TenantId
from semcache.dialects.chat.request import parse_chat
from semcache.errors import RequestError
from semcache.journey import Asked, Backend, Forwarded, Served
from semcache.policy.loader import load_directory
from semcache.prefixes import Prefixes
from semcache.proxy.passthrough import refuse_inner
from tests.test_pipeline import ACME, POLICY, Scene

HOUSE = "You work for the house and answer questions about its products, briefly and politely, in whole sentences."
SYSTEM = {"role": "system", "content": HOUSE + " Today's motto: patience."}
PUBLIC = {"role": "system", "content": HOUSE}
QUESTION = {"role": "user", "content": "What is DNS?"}
OTHER = TenantId("other")
OPERATOR = f"""
schema_version: 1
tenant: default
default_domain: chat
domains: {{chat: {{mode: exact}}}}
prefix: {{public: [{{text: "{HOUSE}"}}]}}
"""


class EngineScene(Scene):
    """The scene of the pipeline's tests, with a local engine beside the upstream."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.book = WarmBook()
        self.prefixes = Prefixes(Owners(b"k" * 32), self.book, self.clock, lambda work: work())
        engine = Backend(self.upstream, "engine", stream_usage=True, prefixes=self.prefixes)
        self.pipeline = replace(
            self.pipeline, backends={**self.pipeline.backends, "local": engine}, default_backend="local"
        )

    async def send(
        self,
        *messages: Any,
        upstream: str = "",
        caller: Caller | None = None,
        directives: Directives | None = None,
        **fields: Any,
    ) -> Any:
        """Send a conversation; gives the body that was sent on, or None when the answer was stored."""
        body = {"model": "m", "messages": list(messages), **fields}
        request = parse_chat(body, "/v1/chat/completions")
        asked = Asked(request, caller or Caller(ACME), directives or Directives(), upstream=upstream)
        answer = await self.pipeline.answer(asked)
        if isinstance(answer, Forwarded):
            async with answer.ticket:
                self.body = b"".join([chunk async for chunk in answer.ticket.chunks()])
            self.trace = answer.trace
            return json.loads(self.upstream.bodies[-1])
        assert isinstance(answer, Served)
        self.trace = answer.trace
        return None

    @property
    def remembered(self) -> int:
        """Heads that were met at least once."""
        return sum(len(page.seen) + len(page.heads) for page in self.book._pages.values())


def make_scene(folder: Path, prefix: str = "") -> EngineScene:
    (folder / "acme.yaml").write_text(POLICY + prefix)
    other = POLICY.replace("acme", "other").replace("anonymous: loopback", "anonymous: never")
    (folder / "other.yaml").write_text(other)
    (folder / "operator.yaml").write_text(OPERATOR)
    return EngineScene(load_directory(folder))


@pytest.fixture
def scene(tmp_path: Path) -> EngineScene:
    return make_scene(tmp_path)


async def test_the_engine_is_told_whose_a_prompt_is(scene: EngineScene) -> None:
    told = await scene.send(PUBLIC, SYSTEM, QUESTION, temperature=0)
    assert told == {
        "model": "m",
        "messages": [PUBLIC, SYSTEM, QUESTION],
        "temperature": 0,
        "prefix_cache": {
            "tenant": scene.prefixes.owners.tenant(ACME),
            "user": None,
            "public_messages": 1,
            "tenant_messages": 1,
        },
    }


async def test_two_tenants_and_two_users_have_other_owners(scene: EngineScene) -> None:
    mine = await scene.send(SYSTEM, QUESTION)
    theirs = await scene.send(SYSTEM, QUESTION, caller=Caller(OTHER))
    assert mine["prefix_cache"]["tenant"] != theirs["prefix_cache"]["tenant"]
    ann, ben = [
        (await scene.send(SYSTEM, QUESTION, user=name, directives=Directives(domain="own")))["prefix_cache"]
        for name in ("ann", "ben")
    ]
    assert ann["tenant"] == ben["tenant"] == mine["prefix_cache"]["tenant"]
    assert ann["tenant_messages"] == 1
    assert ann["user"] != ben["user"]


async def test_a_client_names_no_owner(scene: EngineScene) -> None:
    stolen = {"tenant": scene.prefixes.owners.tenant(OTHER), "user": None, "public_messages": 2}
    told = await scene.send(SYSTEM, QUESTION, prefix_cache=stolen, cache_salt="mine")
    assert told["prefix_cache"]["tenant"] == scene.prefixes.owners.tenant(ACME)
    assert told["prefix_cache"]["public_messages"] == 0
    # A client that sets itself apart is apart, inside its tenant.
    assert told["prefix_cache"]["user"]
    assert told["prefix_cache"]["tenant_messages"] == 0
    assert "cache_salt" not in told


async def test_other_upstreams_get_the_clients_own_words(scene: EngineScene) -> None:
    fields = {"prefix_cache": {"tenant": "t"}, "cache_salt": "mine"}
    await scene.send(SYSTEM, QUESTION, upstream="up", **fields)
    sent = {"model": "m", "messages": [SYSTEM, QUESTION], **fields}
    assert scene.upstream.bodies == [orjson.dumps(sent)]
    assert scene.remembered == 0


async def test_no_store_is_nobodys_and_leaves_nothing(scene: EngineScene) -> None:
    users = set()
    for _ in range(2):
        told = await scene.send(SYSTEM, QUESTION, directives=Directives(no_store=True, no_read=True))
        users.add(told["prefix_cache"]["user"])
        assert told["prefix_cache"]["tenant_messages"] == 0
    assert len(users) == 2
    assert scene.remembered == 0


@pytest.mark.parametrize(
    ("prefix", "directives", "kept"),
    [
        ("", {}, 1),
        ("prefix: {share: user}\n", {"user": "u"}, 1),
        ("prefix: {share: none}\n", {}, 0),
        ("", {"mode": "off"}, 0),
        ("", {"domain": "closed"}, 0),
        ("", {"ttl": 0.0}, 0),
    ],
)
async def test_which_heads_are_remembered(
    tmp_path: Path, prefix: str, directives: dict[str, Any], kept: int
) -> None:
    scene = make_scene(tmp_path, prefix)
    await scene.send(SYSTEM, QUESTION, directives=Directives(**directives))
    assert scene.remembered == kept


async def test_what_belongs_to_one_user_is_not_remembered(tmp_path: Path) -> None:
    scene = make_scene(tmp_path, "prefix: {share: user}\n")
    told_before = {"role": "user", "content": "My name is Ann and I live by the river. " * 10}
    noted = {"role": "assistant", "content": "Noted. " * 40}
    for _ in range(2):
        await scene.send(
            SYSTEM, told_before, noted, QUESTION, directives=Directives(user="ann", no_read=True)
        )
    assert scene.remembered == 1
    assert "river" not in str(scene.book.fresh(ACME, scene.clock.at))
    apart = Directives(no_read=True)
    before = scene.remembered
    await scene.send(SYSTEM, told_before, QUESTION, directives=apart, cache_salt="mine")
    assert scene.remembered == before


async def test_what_a_stranger_asks_is_remembered_for_the_same_key_alone(scene: EngineScene) -> None:
    one, other = (Caller(ACME, principal=letter * 64) for letter in "ef")
    for caller in (one, one, other):
        told = await scene.send(PUBLIC, SYSTEM, QUESTION, caller=caller, directives=Directives(no_read=True))
    (head,) = scene.book.fresh(ACME, scene.clock.at)
    assert head.frequency == 2.0
    owner = head.owner
    warm = scene.prefixes.rebuilt(ACME, owner, json.loads(head.body), scene.snapshot)
    assert warm is not None
    assert warm["prefix_cache"]["user"] == owner != told["prefix_cache"]["user"]
    told = await scene.send(PUBLIC, SYSTEM, QUESTION, caller=one, directives=Directives(no_read=True))
    assert warm["prefix_cache"] == told["prefix_cache"]


async def test_hits_and_followers_are_not_counted(scene: EngineScene) -> None:
    assert await scene.send(SYSTEM, QUESTION)
    before = scene.remembered
    assert await scene.send(SYSTEM, QUESTION) is None
    assert scene.remembered == before
    assert scene.book.fresh(ACME, scene.clock.at) == []


async def test_prewarming_prepares_as_a_request_does(scene: EngineScene) -> None:
    told = await scene.send(PUBLIC, SYSTEM, QUESTION)
    head = {"model": "m", "messages": [PUBLIC, SYSTEM]}
    assert scene.prefixes.rebuilt(ACME, "", head, scene.snapshot) == {
        **head,
        "prefix_cache": told["prefix_cache"],
    }
    assert scene.prefixes.rebuilt(TenantId("gone"), "", head, scene.snapshot) is None


async def test_prewarming_follows_the_policies_of_now(tmp_path: Path) -> None:
    scene = make_scene(tmp_path, "prefix: {share: none}\n")
    assert scene.prefixes.rebuilt(ACME, "", {"messages": [SYSTEM]}, scene.snapshot) is None
    user = make_scene(tmp_path, "prefix: {share: user}\n")
    told = (await user.send(SYSTEM, QUESTION, directives=Directives(user="u")))["prefix_cache"]
    warm = user.prefixes.rebuilt(ACME, "", {"messages": [SYSTEM]}, user.snapshot)
    assert warm is not None
    # The tenant's layer is the same; behind it nothing is computed.
    assert {**told, "user": None} == warm["prefix_cache"]


async def test_the_answers_namespace_and_key_are_what_they_were(scene: EngineScene) -> None:
    request = parse_chat({"model": "m", "messages": [SYSTEM, QUESTION]}, "/v1/chat/completions")
    await scene.pipeline.explain(Asked(request, Caller(ACME), Directives()))
    with_prefixes = dict(request.keys)
    bare = Backend(scene.upstream, "engine", stream_usage=True)
    plain = replace(scene.pipeline, backends={"local": bare})
    again = parse_chat({"model": "m", "messages": [SYSTEM, QUESTION]}, "/v1/chat/completions")
    await plain.explain(Asked(again, Caller(ACME), Directives()))
    assert dict(again.keys) == with_prefixes


def test_text_that_is_no_unicode_brings_no_word_about_owners(tmp_path: Path) -> None:
    scene = make_scene(tmp_path)
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "\ud800"}],
        "prefix_cache": {"tenant": "theirs"},
    }
    raw = json.dumps(body).encode()
    asked = Asked(parse_chat(body, "/v1/chat/completions"), Caller(ACME), Directives(), raw_body=raw)
    policy = scene.snapshot.resolve(asked.request, asked.caller, asked.directives)
    told = json.loads(
        call_of(asked, scene.pipeline.backends["local"], policy, scene.snapshot).body  # type: ignore[arg-type] # bytes
    )
    assert told["prefix_cache"]["tenant"] == scene.prefixes.owners.tenant(ACME)
    assert told["messages"] == body["messages"]
    assert call_of(asked, scene.pipeline.backends["up"], policy, scene.snapshot).body == raw
    assert scene.remembered == 0


@pytest.mark.parametrize(
    ("path", "passes"),
    [
        ("/v1/models", True),
        ("/v1/models/local", True),
        ("/v1/prefix/warm", False),
        ("/v1/prefix", False),
        ("/v1/modelsx", False),
        ("/prefix.html", False),
        ("/v1/chat/completions/", False),
        ("/V1/models", False),
    ],
)
def test_the_engines_inner_pages_are_not_for_clients(tmp_path: Path, path: str, passes: bool) -> None:
    scene = make_scene(tmp_path)
    local, up = scene.pipeline.backends["local"], scene.pipeline.backends["up"]
    refuse_inner(up, "POST", path)
    if passes:
        refuse_inner(local, "GET", path)
        return
    with pytest.raises(RequestError) as refused:
        refuse_inner(local, "GET", path)
    assert refused.value.status == 404


def test_marking_costs_next_to_nothing(tmp_path: Path) -> None:
    """Twenty microseconds are the target; four times that still tell a defect from a busy machine."""
    scene = make_scene(tmp_path)
    waiting: deque[Any] = deque(maxlen=1)
    prefixes = replace(scene.prefixes, later=waiting.append)
    request = parse_chat({"model": "m", "messages": [PUBLIC, SYSTEM, QUESTION]}, "/v1/chat/completions")
    caller, directives = Caller(ACME), Directives()
    policy = scene.snapshot.resolve(request, caller, directives)
    best = min(
        _cpu(lambda: prefixes.prepared(request, caller, directives, policy, scene.snapshot)) for _ in range(5)
    )
    assert best < 80e-6


def _cpu(work: Any, times: int = 300) -> float:
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times
