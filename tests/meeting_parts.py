"""Requests and candidates made of turns."""

from __future__ import annotations

from semcache.core import ChatRequest, Completion, Entry, EntryId, ExactKey, TenantId
from semcache.decide.decision import Candidate


def request_of(chat: list[dict[str, str]]) -> ChatRequest:
    """Give the request of a chat without a system prompt."""
    return ChatRequest(
        dialect="openai.chat",
        path="/v1/chat/completions",
        body={"model": "m", "messages": chat},
        model="m",
        stream=False,
        include_usage=False,
        prompt=chat[-1]["content"],
        system="",
        user_turns=sum(turn["role"] == "user" for turn in chat),
        message_count=len(chat),
        temperature=0.0,
        end_user="",
    )


def candidate(chat: list[dict[str, str]], context: bytes, similarity: float) -> Candidate:
    """Give an entry that was stored for the last question of a chat."""
    entry = Entry(
        id=EntryId("e"),
        tenant=TenantId("t"),
        namespace="",
        key=ExactKey(""),
        domain="chat",
        model="m",
        prompt=chat[-1]["content"],
        completion=Completion(b"{}", None),
        created_at=0.0,
        expires_at=1.0,
        context=context,
    )
    return Candidate(entry, similarity)
