"""Real servers for the tests: one embedded Valkey a run, and $SEMCACHE_TEST_REDIS_URL if set."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from semcache.core import Completion, Embedding, EncoderId, Entry, EntryId, ExactKey, TenantId, Usage
from semcache.store.embedded import ChildRules, ValkeyChild

ACME = TenantId("acme")
EXTERNAL = os.environ.get("SEMCACHE_TEST_REDIS_URL", "")


class WallClock:
    """The machine's time, with a hand to move it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def monotonic(self) -> float:
        return time.monotonic()


@pytest.fixture(scope="session")
def valkey() -> Iterator[ValkeyChild]:
    """An embedded server that all tests of a run share; each uses its own key prefix."""
    with tempfile.TemporaryDirectory(prefix="store-") as data:
        child = ValkeyChild(Path(data), ChildRules())
        asyncio.run(child.start())
        try:
            yield child
        finally:
            asyncio.run(child.stop())


def unit(seed: int, size: int = 384) -> np.ndarray:
    vector = np.random.default_rng(seed).normal(size=size).astype(np.float32)
    return vector / np.linalg.norm(vector)


def entry(name: str = "e1", **changes: object) -> Entry:
    now = time.time()
    fields: dict[str, object] = {
        "id": EntryId(name),
        "tenant": ACME,
        "namespace": "aa" * 32,
        "key": ExactKey(f"key-of-{name}"),
        "domain": "chat",
        "model": "small",
        "prompt": f"what is {name}?",
        "completion": Completion(f'{{"text":"answer to {name}"}}'.encode(), Usage(3, 5)),
        "created_at": now,
        "expires_at": now + 600,
        "embedding": Embedding(unit(sum(name.encode())), EncoderId("minilm")),
    }
    return Entry(**{**fields, **changes})  # type: ignore[arg-type] # a table of any fields


def same(one: Entry | None, other: Entry | None) -> bool:
    """Compare all fields; vectors up to what float16 moves them."""
    if one is None or other is None:
        return one is other
    flat = [
        (
            *(getattr(e, name) for name in e.__slots__ if name != "embedding"),
            e.embedding and e.embedding.encoder,
        )
        for e in (one, other)
    ]
    vectors = [e.embedding.vector for e in (one, other) if e.embedding]
    return flat[0] == flat[1] and (not vectors or bool(np.allclose(*vectors, atol=2e-4)))
