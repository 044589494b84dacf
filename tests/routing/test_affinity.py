"""What ties turns of a conversation together, and what keeps others apart."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import ChatRequest
from semcache.dialects.chat.request import parse_chat
from semcache.routing.affinity import HEAD, affinity_of, head_of

SYSTEM = {"role": "system", "content": "You answer briefly."}


def asked(*messages: dict[str, Any], **fields: Any) -> ChatRequest:
    return parse_chat({"model": "m", "messages": list(messages), **fields}, "/v1/chat/completions")


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


FIRST = asked(SYSTEM, user("Where is Paris?"))
LATER = asked(
    SYSTEM, user("Where is Paris?"), {"role": "assistant", "content": "In France."}, user("And Rome?")
)


def test_every_turn_of_a_conversation_has_the_affinity_of_the_first() -> None:
    assert affinity_of(FIRST, "acme") == affinity_of(LATER, "acme")
    assert len(affinity_of(FIRST, "acme")) == 2 * HEAD


@pytest.mark.parametrize(
    ("other", "same_head"),
    [
        (asked(SYSTEM, user("Where is Rome?")), True),
        (asked(SYSTEM, user("Where is Paris?"), temperature=0.5, max_tokens=5, stream=True), True),
        (asked({"role": "system", "content": "You answer at length."}, user("Where is Paris?")), False),
        (asked(user("Where is Paris?")), False),
        (asked(SYSTEM, user("Where is Paris?"), tools=[{"type": "function"}]), False),
        (asked(SYSTEM, user("Where is Paris?"), cache_salt="x"), False),
        (asked(SYSTEM, user("Where is Paris?"), prompt_cache_key="x"), False),
        (asked(SYSTEM, user("Where is Paris?"), model="other"), False),
    ],
)
def test_what_a_head_and_a_conversation_are(other: ChatRequest, same_head: bool) -> None:
    one, two = affinity_of(FIRST, "acme"), affinity_of(other, "acme")
    assert (head_of(one) == head_of(two)) is same_head
    assert (one == two) is (other.body["messages"] == FIRST.body["messages"] and same_head)


def test_owners_share_nothing() -> None:
    assert head_of(affinity_of(FIRST, "acme")) != head_of(affinity_of(FIRST, "apex"))


@given(st.text(), st.text(), st.text())
def test_owner_and_text_cannot_be_shifted_into_each_other(owner: str, system: str, text: str) -> None:
    def key(owner: str, system: str, text: str) -> bytes:
        return affinity_of(asked({"role": "system", "content": system}, user(text)), owner)

    assert key(owner, system, text) != key(owner + "x", system, text)
    assert key(owner, system, text) != key(owner, system + text, "") or not text


@pytest.mark.parametrize(
    "content", ["\ud800", [{"type": "image_url", "image_url": {"url": "x"}}], None, 5, 10**30]
)
def test_odd_messages_have_an_affinity_too(content: Any) -> None:
    request = asked(SYSTEM, {"role": "user", "content": content})
    assert affinity_of(request, "a\ud800") == affinity_of(request, "a\ud800")
    assert affinity_of(request, "a") != affinity_of(FIRST, "a")
    assert affinity_of(asked(SYSTEM), "a") != affinity_of(FIRST, "a")
