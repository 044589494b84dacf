"""Neighbours on the encoder's own scale, judged by a policy on the reference scale.

Also the way of one pair of questions without store or index, for `semcache policy test`: would
the answer stored for the first be served for the second?
"""

from __future__ import annotations

from collections.abc import Sequence

from semcache.core import (
    CachePolicy,
    Completion,
    Decision,
    Directives,
    Embedding,
    Entry,
    EntryId,
    ExactKey,
    Hit,
    Miss,
    Mode,
)
from semcache.decide.decision import Candidate, decide
from semcache.decide.scale import on_curves
from semcache.embed.canonical import canonical_text
from semcache.errors import EncoderError
from semcache.ports import Encoder


def decide_near(
    encoder: Encoder,
    policy: CachePolicy,
    directives: Directives,
    asked: str,
    near: Sequence[Candidate],
    now: float,
) -> Decision:
    """Decide about neighbours of one question.

    Args:
        encoder: knows the way from its raw cosines to the reference scale.
        policy: thresholds and gate.
        directives: what the client asked.
        asked: the last user text.
        now: Unix seconds.
        near: candidates with the *raw* cosine as similarity, all of one encoder.

    Returns:
        What `decide` says on the reference scale, reached by the policy's own curves for this
        encoder or by its calibration table; `Miss("uncalibrated-encoder")` where there is neither.
    """
    generations = {item.entry.embedding.encoder for item in near if item.entry.embedding is not None}
    for generation in generations:
        name = encoder.name_of(generation)
        curves = policy.curves_of(name)
        scaled: list[Candidate] = []
        for item in near:
            cosine = item.similarity
            reference = on_curves(cosine, curves) if curves else encoder.to_reference(generation, cosine)
            if reference is None:
                return Miss("uncalibrated-encoder")
            scaled.append(Candidate(item.entry, reference))
        return decide(policy, directives, asked, scaled, now)
    return decide(policy, directives, asked, (), now)


async def judge(encoder: Encoder, a: str, b: str, policy: CachePolicy) -> Decision:
    """Decide whether the answer to `a`, stored under `policy`, may be served for `b`.

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
    near = Candidate(_entry(a, policy, stored), float(stored.vector @ asked.vector))
    return decide_near(encoder, policy, Directives(), b, [near], now=0.0)


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
