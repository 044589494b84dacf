"""Who owns which tokens of a prompt."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.engine.chat import ChatTemplate
from semcache.engine.fields import PrefixCache
from semcache.engine.layers import NOBODY, PUBLIC, Layer, owner_at
from semcache.engine.ownership import layers_of, part
from semcache.engine.schema import parse_chat
from semcache.engine.service import Engine
from tests.engine.light import LightRunner
from tests.engine.tiny import tiny_tokenizer

TEMPLATE = ChatTemplate(tiny_tokenizer())
keys = st.text(min_size=1, max_size=6)


def salts(tenant: str | None = None, user: str | None = None, cache_salt: str | None = None) -> set[Any]:
    """The owners of a prompt that is the tenant's in its middle and private at its end."""
    asked = None if tenant is None else PrefixCache(tenant=tenant, user=user)
    found = layers_of(asked, cache_salt, public_end=0, tenant_end=4, length=9)
    return {layer.owner for layer in found}


def test_three_layers() -> None:
    asked = PrefixCache(tenant="acme", user="ann", public_messages=1, tenant_messages=2)
    found = layers_of(asked, None, public_end=5, tenant_end=8, length=20)
    tenant, user = found[1].owner, found[2].owner
    assert [layer.end for layer in found] == [5, 8, 20]
    assert found[0].owner == PUBLIC
    assert tenant.tenant == user.tenant == "acme"
    assert tenant.salt != user.salt


@pytest.mark.parametrize(
    ("public_end", "tenant_end", "user", "ends"),
    [
        (0, 0, None, [20]),
        (0, 7, None, [20]),  # the tenant's part and the rest are one owner's
        (0, 7, "u", [7, 20]),
        (6, 3, "u", [6, 20]),  # what is public is the tenant's, too
        (6, 6, None, [6, 20]),
        (20, 20, "u", [19, 20]),  # an answer is never public
        (0, 20, "u", [19, 20]),
    ],
)
def test_borders(public_end: int, tenant_end: int, user: str | None, ends: list[int]) -> None:
    asked = PrefixCache(tenant="t", user=user)
    found = layers_of(asked, None, public_end=public_end, tenant_end=tenant_end, length=20)
    assert [layer.end for layer in found] == ends
    assert not found[-1].owner.is_public


def test_a_head_that_is_only_computed_may_be_public_to_its_end() -> None:
    asked = PrefixCache(tenant="t")
    found = layers_of(asked, None, public_end=9, tenant_end=0, length=9, answered=False)
    assert found == (Layer(9, PUBLIC),)


def test_without_a_word_nobody_owns_anything() -> None:
    assert layers_of(None, None, public_end=0, tenant_end=0, length=5) == ()
    assert owner_at((), 3) == NOBODY


@given(st.lists(st.tuples(st.sampled_from([b"t", b"u", b"s"]), keys), unique=True, max_size=4), st.data())
def test_no_two_lists_of_parts_look_alike(left: list[tuple[bytes, str]], data: st.DataObject) -> None:
    right = data.draw(st.lists(st.tuples(st.sampled_from([b"t", b"u", b"s"]), keys), max_size=4))
    written = [b"".join(part(*item) for item in row) for row in (left, right)]
    assert (written[0] == written[1]) == (left == right)


def test_owners_never_meet_by_spelling() -> None:
    named = [
        salts("ab"),
        salts("a", "b"),
        salts("a", "b", "c"),
        salts("a", None, "b"),
        salts("a", None, "bc"),
        salts(cache_salt="ab"),
        salts(cache_salt="a"),
        salts("local"),
        {NOBODY},
        {PUBLIC},
    ]
    private = [{owner.salt for owner in owners} - {part(b"t", "a")} for owners in named]
    for number, own in enumerate(private):
        for others in private[number + 1 :]:
            assert not own & others


@given(keys, keys | st.none(), keys | st.none())
def test_a_callers_salt_changes_every_private_owner(tenant: str, user: str | None, salt: str) -> None:
    assert not salts(tenant, user, salt or "x") & salts(tenant, user)


turns = st.lists(
    st.tuples(
        st.sampled_from(["system", "user", "assistant"]),
        st.text(max_size=20) | st.sampled_from(["\n", " the", "<|im_end|>", "band " * 80, "an"]),
    ),
    min_size=1,
    max_size=5,
)


@given(turns, st.booleans())
def test_borders_are_token_prefixes_of_any_conversation(turns: list[tuple[str, str]], tools: bool) -> None:
    messages = [{"role": role, "content": text} for role, text in turns]
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    extra = {"tools": [tool]} if tools else {}
    body = parse_chat(orjson.dumps({"model": "m", "messages": messages, **extra}))
    prompt = TEMPLATE.tokens(body)
    counts = range(len(messages) + 1)
    ends = TEMPLATE.borders(body, counts, prompt)
    assert list(ends) == sorted(ends)
    assert ends[0] == 0
    for count, end in zip(counts, ends, strict=True):
        if count:
            alone = parse_chat(orjson.dumps({"model": "m", "messages": messages[:count], **extra}))
            head = TEMPLATE.tokens(alone, opening=False)
            assert prompt[:end] == head[:end]
            assert end in (len(head), len(prompt)) or prompt[end] != head[end]


def test_a_prepared_request_carries_its_layers_draft_and_rules() -> None:
    engine = Engine(TEMPLATE, LightRunner(), context=400, vocabulary_size=300, fingerprint="fp")
    body = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hi"},
            {"role": "user", "content": "What?"},
        ],
        "prefix_cache": {"tenant": "t", "user": "u", "public_messages": 1, "tenant_messages": 2},
        "prediction": {"type": "content", "content": [{"type": "text", "text": t} for t in ("the a", "nd")]},
        "top_k": 7,
        "min_p": 0.25,
    }
    asked = engine.prepare(parse_chat(orjson.dumps(body)))
    text = TEMPLATE._cutter._backend.decode
    first, second = (layer.end for layer in asked.layers[:2])
    assert text(list(asked.prompt[:first]), skip_special_tokens=False).endswith("Be kind.<|im_end|>\n")
    assert text(list(asked.prompt[first:second]), skip_special_tokens=False).endswith("Hi<|im_end|>\n")
    assert text(list(asked.draft)) == "the and"
    assert (asked.sampling.top_k, asked.sampling.min_p) == (7, 0.25)
    assert engine.prepare(parse_chat(orjson.dumps({**body, "top_k": -1}))).sampling.top_k == 0
    warmed = engine.prepare_warm(parse_chat(orjson.dumps({**body, "messages": body["messages"][:2]})))
    assert warmed.prompt == asked.prompt[:second]
    assert warmed.layers == asked.layers[:2]
    assert (warmed.max_tokens, warmed.background) == (0, True)


@given(st.text(max_size=30) | st.sampled_from(["\n\n", "<|im_end|>and", "the " * 5000]))
def test_a_draft_continues_the_prompt(text: str) -> None:
    body = parse_chat(orjson.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}))
    prompt = TEMPLATE.tokens(body)
    draft = TEMPLATE.continuation(body, prompt, text, 64)
    assert len(draft) <= 64
    assert not TEMPLATE._cutter.special & set(draft)
    said = TEMPLATE._cutter._backend.decode(list(draft))
    plain = text.replace("<|im_end|>", "").replace("<|im_start|>", "")
    # A draft that is cut may end within a character.
    assert plain.startswith(said.rstrip("\ufffd")) if len(draft) == 64 else said == plain
