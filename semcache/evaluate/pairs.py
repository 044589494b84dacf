"""Pairs and conversations: the first is stored in a namespace of its own, then the second is asked.

Gives what was seen of each pair; counting is `tally`'s.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from semcache.core import Bypass, Decision, Draft, Embedding, Hit, Miss
from semcache.evaluate.asking import ask_of, model_for
from semcache.evaluate.baselines.rule import Peer, Question
from semcache.evaluate.domains import Variation
from semcache.evaluate.rig import Rig
from semcache.evaluate.rows import Pair
from semcache.journey import Asked

AT_ONCE = 8
"""Pairs stored at the same time. Decisions are made one by one, so that each is timed alone."""
_RIGHT, _OTHER = "right", "other"


class Kind(StrEnum):
    """What a decision comes to."""

    EXACT = "exact"
    SEMANTIC = "semantic"
    DRAFT = "draft"
    MISS = "miss"
    BYPASS = "bypass"

    @property
    def is_served(self) -> bool:
        """True for a stored answer that goes out as it is."""
        return self in (Kind.EXACT, Kind.SEMANTIC)


def kind_of(decision: Decision) -> Kind:
    """Put a decision into one word; under a shadow policy a hit counts as one, though nobody gets it."""
    match decision:
        case Hit(exact=exact):
            return Kind.EXACT if exact else Kind.SEMANTIC
        case Draft():
            return Kind.DRAFT
        case Miss():
            return Kind.MISS
        case Bypass():
            return Kind.BYPASS


def reason_of(decision: Decision) -> str:
    """Give why an answer was not served; "" when it was, or is a draft."""
    return decision.reason if isinstance(decision, Miss | Bypass) else ""


def vetoes_of(decision: Decision) -> tuple[str, ...]:
    """Give the gate's words on a decision."""
    match decision:
        case Miss(vetoes=words) | Draft(reasons=words):
            return words
        case _:
            return ()


def score_of(decision: Decision) -> float | None:
    """Give the verifier's score; None where it was not asked, or could not tell."""
    return None if isinstance(decision, Bypass) else decision.score


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of one pair.

    `seconds` and `cpu` are those of the decision about the second question, its vector being
    ready. `peers` says what each baseline did, `swept` what we would serve under each variation;
    `similarity` is what a peer with a bare threshold compares, None without vectors.
    """

    pair: Pair
    kind: Kind
    reason: str
    vetoes: tuple[str, ...]
    seconds: float
    cpu: float
    peers: tuple[bool, ...]
    swept: tuple[bool, ...]
    similarity: float | None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class PairRun:
    """How pairs are to be run.

    Args:
        name: begins all namespaces of this run, which no other run may use.
        peers: make the baselines, fresh for every pair.
        variations: of the policy, under which our own decision is asked for too.
        seed: of what baselines leave to chance.
    """

    name: str
    peers: Sequence[Callable[[random.Random], Peer]] = ()
    variations: Sequence[Variation] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class _Asked:
    """One pair as two requests."""

    pair: Pair
    first: Asked
    second: Asked


async def run_pairs(rig: Rig, pairs: Sequence[Pair], run: PairRun, advance: Callable[[], None]) -> list[Seen]:
    """Judge all pairs; `advance` is called after each.

    Raises:
        SemcacheError: a part of the cache failed.
        EncoderError: the encoder failed.
    """
    tenant = rig.parts.tenant
    model = model_for(rig.parts.snapshot.tenant(tenant))
    chance = random.Random(run.seed)  # noqa: S311 - an experiment, repeatable by its seed
    seen: list[Seen] = []
    for start in range(0, len(pairs), AT_ONCE):
        asked = [
            _Asked(
                pair,
                ask_of(pair.first, tenant, model, f"{run.name}.{number}"),
                ask_of(pair.second, tenant, model, f"{run.name}.{number}"),
            )
            for number, pair in enumerate(pairs[start : start + AT_ONCE], start)
        ]
        await asyncio.gather(*(rig.ask(rig.pipeline(one.pair.domain), one.first) for one in asked))
        await asyncio.gather(*(rig.embed(one.second.request.prompt) for one in asked))
        for one in asked:
            seen.append(await _decide(rig, one, run, chance))
            advance()
    await rig.forget()
    return seen


async def _decide(rig: Rig, one: _Asked, run: PairRun, chance: random.Random) -> Seen:
    pair = one.pair
    timed = await rig.explain(rig.pipeline(pair.domain), one.second)
    swept = [
        kind_of((await rig.explain(rig.pipeline(pair.domain, variation), one.second)).decision).is_served
        for variation in run.variations
    ]
    served: tuple[bool, ...] = ()
    similarity = None
    if run.peers or run.variations:
        first = await rig.embed_cut(one.first.request.prompt)
        second = await rig.embed_cut(one.second.request.prompt)
        similarity = _similarity(rig, first, second)
        served = tuple(_peer_serves(make(chance), pair, first, second) for make in run.peers)
    return Seen(
        pair=pair,
        kind=kind_of(timed.decision),
        reason=reason_of(timed.decision),
        vetoes=vetoes_of(timed.decision),
        seconds=timed.seconds,
        cpu=timed.cpu,
        peers=served,
        swept=tuple(swept),
        similarity=similarity,
        score=score_of(timed.decision),
    )


def _peer_serves(peer: Peer, pair: Pair, first: Embedding | None, second: Embedding | None) -> bool:
    peer.ask(Question(first, _RIGHT))
    return peer.ask(Question(second, _RIGHT if pair.same else _OTHER)) is not None


def _similarity(rig: Rig, first: Embedding | None, second: Embedding | None) -> float | None:
    if first is None or second is None or first.encoder != second.encoder:
        return None
    return rig.peer_scale(first.encoder, float(first.vector @ second.vector))
