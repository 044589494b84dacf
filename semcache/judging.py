"""Neighbours on the encoder's own scale, judged by a policy on the reference scale.

Also the way of one pair of questions without store or index, for `semcache policy test`: would
the answer stored for the first be served for the second?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from semcache.core import (
    CachePolicy,
    Completion,
    Confirmation,
    Decision,
    Directives,
    Embedding,
    EncoderId,
    Entry,
    EntryId,
    ExactKey,
    Hit,
    Miss,
    Mode,
    Neighbour,
)
from semcache.decide.decision import Candidate, decide
from semcache.decide.scale import on_curves
from semcache.embed.canonical import canonical_text
from semcache.errors import EncoderError
from semcache.ports import Encoder, Verifier


def similarity_of(
    encoder: Encoder, policy: CachePolicy, generation: EncoderId, cosine: float
) -> float | None:
    """Put a raw cosine on the reference scale: by the policy's own curves, else by the encoder's table.

    None where there is neither: then nothing can be said about the pair.
    """
    curves = policy.curves_of(encoder.name_of(generation))
    return on_curves(cosine, curves) if curves else encoder.to_reference(generation, cosine)


def near_enough(
    encoder: Encoder,
    policy: CachePolicy,
    generation: EncoderId,
    neighbours: Sequence[Neighbour],
    floor: float,
) -> list[tuple[EntryId, float]] | Miss:
    """Give the neighbours that are of any use, best first, with their similarities; or why none is.

    What lies below `floor`, below which nothing is of use, need not be read from the store.
    """
    near: list[tuple[EntryId, float]] = []
    for neighbour in neighbours:
        similarity = similarity_of(encoder, policy, generation, neighbour.cosine)
        if similarity is None:
            return Miss("uncalibrated-encoder")
        if similarity < floor:
            return near or Miss("below-threshold", similarity=similarity)
        near.append((neighbour.entry_id, similarity))
    return near or Miss("empty")


async def judge(encoder: Encoder, verifier: Verifier | None, a: str, b: str, policy: CachePolicy) -> Decision:
    """Decide whether the answer to `a`, stored under `policy`, may be served for `b`, evidence and confirmation aside.

    Raises:
        EncoderError: the encoder failed; a text that it refuses is a miss.
    """
    if policy.mode in (Mode.SEMANTIC, Mode.SHADOW, Mode.EXACT) and canonical_text(a) == canonical_text(b):
        return Hit(_entry(a, policy, None), exact=True, similarity=1.0)
    try:
        stored, asked = await encoder.encode(a), await encoder.encode(b)
    except EncoderError as error:
        if error.is_refusal:
            return Miss(f"encoder-{error.kind}")
        raise
    if stored.encoder != asked.encoder:
        return Miss("other-encoder")
    similarity = similarity_of(encoder, policy, asked.encoder, float(stored.vector @ asked.vector))
    if similarity is None:
        return Miss("uncalibrated-encoder")
    policy = replace(policy, confirmation=Confirmation())
    candidates = [Candidate(_entry(a, policy, stored), similarity)]
    return decide(policy, Directives(), b, candidates, now=0.0, verifier=verifier)


def _entry(prompt: str, policy: CachePolicy, embedding: Embedding | None) -> Entry:
    return Entry(
        id=EntryId("pair"),
        tenant=policy.tenant,
        namespace="",
        key=ExactKey(""),
        domain=policy.domain,
        model="",
        prompt=prompt,
        completion=Completion(b"{}", None),
        created_at=0.0,
        expires_at=1.0,
        embedding=embedding,
    )
