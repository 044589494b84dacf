"""Small builders: every test names only what it is about (so that no verifier is asked but where one is named)."""

from __future__ import annotations

from typing import Any

import numpy as np

from semcache.core import (
    CachePolicy,
    ChatRequest,
    Completion,
    Embedding,
    EncoderId,
    Entry,
    EntryId,
    ExactKey,
    GateRules,
    Mode,
    Scope,
    TenantId,
)
from semcache.decide.decision import Candidate

NOW = 1_000_000.0
ASKED = "How do I reset my password?"


def policy(**changes: Any) -> CachePolicy:
    values: dict[str, Any] = {
        "tenant": TenantId("acme"),
        "domain": "chat",
        "mode": Mode.SEMANTIC,
        "threshold": 0.95,
        "verified_threshold": 0.92,
        "draft_threshold": 0.85,
        "scope": Scope.TENANT,
        "ttl": 3600.0,
        "ttl_jitter": 0.1,
        "gate": GateRules(),
        "max_user_turns": 1,
        "verifier": False,
    }
    return CachePolicy(**(values | changes))


def entry(id: str = "e", **changes: Any) -> Entry:
    values: dict[str, Any] = {
        "id": EntryId(id),
        "tenant": TenantId("acme"),
        "namespace": "n",
        "key": ExactKey("k"),
        "domain": "chat",
        "model": "m",
        "prompt": "How can I reset my password?",
        "completion": Completion(b'{"x":1}', None),
        "created_at": NOW - 100.0,
        "expires_at": NOW + 100.0,
        "embedding": Embedding(np.ones(1, np.float32), EncoderId("enc")),
    }
    return Entry(**(values | changes))


def candidate(similarity: float, id: str = "e", **changes: Any) -> Candidate:
    return Candidate(entry(id, **changes), similarity)


def request(**changes: Any) -> ChatRequest:
    values: dict[str, Any] = {
        "dialect": "openai",
        "path": "/v1/chat/completions",
        "body": {},
        "model": "m",
        "stream": False,
        "include_usage": False,
        "prompt": ASKED,
        "system": "",
        "user_turns": 1,
        "message_count": 1,
        "temperature": 0.0,
        "end_user": "",
    }
    return ChatRequest(**(values | changes))
