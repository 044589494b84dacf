"""A small world for evaluations: questions with chosen similarities, a policy, everything around them real."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np

from semcache.core import Embedding, EncoderId, TenantId
from semcache.evaluate.domains import policies_at
from semcache.evaluate.rig import Rig, assembled
from semcache.evaluate.rows import Messages, Pair
from semcache.policy.snapshot import PolicySnapshot
from tests.fakes.encoder import FakeEncoder

ACME = TenantId("acme")
FAKE = EncoderId("fake@000000000001")
POLICY = """
schema_version: 1
tenant: acme
access: {keys: [], anonymous: never}
default_domain: chat
defaults: {ttl: 1h, verifier: {enabled: false}, mode: semantic}
domains:
  chat: {threshold: 0.92, draft_threshold: 0.80}
  medical: {threshold: 0.99}
  code: {mode: exact}
assign:
  header: false
  rules:
    - {name: coding, system_prompt: {contains: [programmer]}, domain: code}
classifier: {enabled: false}
"""


def policy(folder: Path, text: str = POLICY) -> PolicySnapshot:
    path = folder / "acme.yaml"
    path.write_text(text)
    return policies_at(path)


def direction(cosine: float) -> np.ndarray:
    """A unit vector with this cosine to the first axis."""
    vector = np.zeros(64, np.float32)
    vector[:2] = cosine, np.sqrt(1.0 - cosine * cosine)
    return vector


def embedding(cosine: float, encoder: EncoderId = FAKE) -> Embedding:
    return Embedding(direction(cosine), encoder)


def question(text: str) -> Messages:
    return ({"role": "user", "content": text},)


def pair(a: str, b: str, *, same: bool = True, category: str = "", domain: str = "") -> Pair:
    return Pair(question(a), question(b), same, category, domain)


@asynccontextmanager
async def rig(folder: Path, cosines: Mapping[str, float], text: str = POLICY) -> AsyncIterator[Rig]:
    """Give a rig whose encoder puts each text at its cosine from the first axis."""
    encoder = FakeEncoder(vectors={text: direction(cosine) for text, cosine in cosines.items()})
    async with assembled(encoder, policy(folder, text), ACME) as made:
        yield made
