"""Answers that humans have settled, on their way through the pipeline: public, barred, narrowed, verified."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from semcache.core import (
    Caller,
    Entry,
    EntryId,
    Hit,
    Miss,
    Namespace,
    Review,
    ReviewStatus,
    TenantId,
)
from semcache.embed.fingerprint import key_in
from semcache.journey import Served
from semcache.policy.loader import load_directory
from semcache.review_rules import PUBLIC
from tests.test_pipeline import ACME, Scene

OTHER = Caller(TenantId("other"))
POLICY = """
schema_version: 1
tenant: {tenant}
access: {{keys: [], anonymous: {anonymous}}}
default_domain: chat
defaults: {{ttl: 1h, ttl_jitter: 0, mode: semantic, threshold: 0.92}}
domains:
  chat: {{commons: {commons}}}
  own: {{commons: {commons}, scope: user}}
  apart: {{}}
classifier: {{enabled: false}}
"""


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    for tenant, commons in (("acme", "true"), ("other", "true"), ("loner", "false")):
        anonymous = "loopback" if tenant == "acme" else "never"
        text = POLICY.format(tenant=tenant, commons=commons, anonymous=anonymous)
        (tmp_path / f"{tenant}.yaml").write_text(text)
    made = Scene(load_directory(tmp_path))
    yield made
    for task in made.tasks:
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)


async def stored(scene: Scene, question: str, **wishes: str) -> Entry:
    """Ask, and give what was stored for it."""
    answer = await scene.ask(question, **wishes)
    assert answer.trace.stored
    found = [entry async for entry in scene.store.scan(ACME) if entry.prompt == question]
    return found[-1]


async def published(scene: Scene, question: str) -> Entry:
    """Ask, then make the answer public as an operator does."""
    entry = await stored(scene, question)
    assert entry.commons
    public = replace(
        entry,
        id=EntryId(f"public-{entry.id}"),
        tenant=TenantId(PUBLIC),
        namespace=entry.commons,
        key=key_in(entry.commons, entry.prompt),
        status=ReviewStatus.APPROVED,
    )
    assert await scene.store.put(public)
    assert public.embedding is not None
    await scene.index.add(Namespace(public.tenant, public.namespace), public.id, public.embedding)
    return public


async def test_what_was_made_public_is_served_to_another_tenant_by_words_and_by_meaning(scene: Scene) -> None:
    public = await published(scene, "how do I get my money back please")
    same = await scene.ask("how do I get my money back please", caller=OTHER)
    assert isinstance(same, Served)
    assert same.entry.id == public.id
    assert same.trace.vouched
    alike = await scene.ask("How do I get my money back, please?", caller=OTHER)
    assert isinstance(alike, Served)
    assert not alike.trace.decision.exact
    assert scene.calls == 1


async def test_nothing_else_crosses_tenants(scene: Scene) -> None:
    await stored(scene, "how do I get my money back please")
    other = await scene.ask("how do I get my money back please", caller=OTHER)
    assert isinstance(other.trace.decision, Miss)
    assert scene.calls == 2


async def test_who_takes_no_part_gets_nothing_public_and_gives_nothing(scene: Scene) -> None:
    await published(scene, "how do I get my money back please")
    loner = Caller(TenantId("loner"))
    assert isinstance(
        (await scene.ask("how do I get my money back please", caller=loner)).trace.decision, Miss
    )
    for domain in ("own", "apart"):
        assert (await stored(scene, f"what is the {domain} one", domain=domain, user="ann")).commons == ""


async def test_another_system_prompt_is_another_public_place(scene: Scene) -> None:
    await published(scene, "how do I get my money back please")
    fields = {"messages": [
        {"role": "system", "content": "Answer in French."},
        {"role": "user", "content": "how do I get my money back please"},
    ]}  # fmt: skip
    other = await scene.ask("", caller=OTHER, fields=fields)
    assert not isinstance(other, Served)


async def test_an_edited_answer_is_served_in_the_place_of_the_old_one(scene: Scene) -> None:
    entry = await stored(scene, "What is DNS?")
    assert isinstance(await scene.ask("What is DNS?"), Served)
    body = entry.completion.body.replace(b"answer 1", b"a better answer")
    edited = replace(
        entry,
        completion=replace(entry.completion, body=body),
        status=ReviewStatus.EDITED,
        version=entry.version + 1,
        review=Review(by="ann"),
    )
    assert await scene.store.put(edited)
    scene.near.clear()
    again = await scene.ask("What is DNS?")
    assert isinstance(again, Served)
    assert again.entry.completion.body == body
    assert again.trace.vouched


async def test_a_narrowed_answer_is_a_miss_for_everybody_else(scene: Scene) -> None:
    entry = await stored(scene, "what is my plan", user="ann")
    narrowed = replace(entry, version=entry.version + 1, review=Review(only=entry.author))
    assert await scene.store.put(narrowed)
    scene.near.clear()
    ann = await scene.ask("what is my plan", user="ann")
    assert isinstance(ann.trace.decision, Hit)
    bob = await scene.ask("what is my plan", user="bob")
    assert isinstance(bob.trace.decision, Miss)
    assert bob.trace.decision.reason == "narrowed"
