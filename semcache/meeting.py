"""Where a request meets others by meaning: in which namespace, by which text, and whether what was said before agrees.

A single question meets in a namespace without history. So does the last question of a conversation
where nothing said before bears on it; one that leans on what was said meets others that do, by a text that
tells it whole, and the records of both conversations must agree. Everything else keeps its history in the
namespace and meets only what was said after the very same words. Knows no decision and no store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from semcache.core import CachePolicy, ChatRequest, Embedding, Entry, Namespace, Scope, TenantId
from semcache.decide.context import RETOLD, Judge, Nearness, Reading, agree, open_texts, read, settle
from semcache.decide.decision import Candidate
from semcache.embed.canonical import canonical_text
from semcache.embed.fingerprint import Partition
from semcache.embed.resolved import RESOLVED, resolved_namespace
from semcache.errors import EncoderError
from semcache.judging import similarity_of
from semcache.ports import Encoder
from semcache.review_rules import PUBLIC

_KINDS = ("standalone", "bound", "opaque")
_EVERYBODY = "public"
_INSTRUCTIONS = ("system", "developer")
_MOST_JUDGED = 3
"""Candidates, nearest first, that are compared clause by clause at most."""
_MOST_TEXTS = 6
"""Clauses that are embedded at most to tell small talk: each costs a pass of the encoder."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """The place of one request, and what it is known by there."""

    reading: Reading
    namespace: Namespace

    @property
    def is_bound(self) -> bool:
        """True where what was said before must be compared."""
        return self.reading.kind == "bound"

    def floor(self, policy: CachePolicy) -> float:
        """Give the similarity below which nothing found is of any use: of whole texts, or of questions."""
        return RETOLD.resolved if self.is_bound else policy.floor


def places(request: ChatRequest, partition: Partition, policy: CachePolicy) -> dict[str, Namespace]:
    """Give every namespace in which a request may turn out to meet others, by the kind of reading that leads there."""
    return {kind: resolved_namespace(request, partition, kind) for kind in _kinds(request, policy)}


def commons(request: ChatRequest, partition: Partition, policy: CachePolicy) -> Namespace | None:
    """Give the namespace in which answers for everybody would stand; None where the policy takes no part in that.

    Only single questions have one: what was said before is nobody else's.
    """
    if not policy.commons or policy.scope is Scope.USER or request.prompt is None or _has_history(request):
        return None
    everybody = replace(partition, tenant=TenantId(PUBLIC), scope=_EVERYBODY, owner="")
    return resolved_namespace(request, everybody, "standalone")


async def meet(request: ChatRequest, known: Mapping[str, Namespace], encoder: Encoder) -> Meeting:
    """Read a request and give its place; where the encoder would have to say and cannot, a question is bound.

    Args:
        request: the request.
        known: its `places`.
        encoder: tells how near the question is to what was said before.
    """
    reading = _read(request, known)
    if reading.otherwise is not None:
        reading = settle(reading, await _cosine(encoder, reading.text, reading.background))
    return Meeting(reading, known[reading.kind])


async def agreeing(
    meeting: Meeting,
    request: ChatRequest,
    policy: CachePolicy,
    encoder: Encoder,
    embedding: Embedding,
    found: Iterable[Candidate],
    kin: Judge | None = None,
) -> tuple[list[Candidate], tuple[str, ...]]:
    """Keep the candidates whose conversations come to the same; else give the nearest one's reasons.

    Their similarity becomes that of the last questions, which is what thresholds are about; that of the whole
    texts only has to be near. With `kin`, chats told in other words may agree as well.

    Raises:
        EncoderError: the encoder failed.
    """
    kept: list[Candidate] = []
    reasons: tuple[str, ...] = ()
    judged = 0
    for candidate in found:
        entry = candidate.entry
        # The namespace says that both are of one kind.
        stored = Reading(meeting.reading.kind, "", entry.context)
        against = agree(meeting.reading, stored, kin=kin)
        if not against and judged < _MOST_JUDGED:
            judged += 1
            last = await _last(encoder, policy, request, entry, embedding)
            talk = (
                {}
                if kin is None
                else await _small_talk(encoder, open_texts(meeting.reading, stored, kin), kin)
            )
            nearness = Nearness(candidate.similarity, last)
            against = agree(meeting.reading, stored, nearness, kin, talk.get)
            if not against:
                kept.append(Candidate(entry, last))
        reasons = reasons or against
    return kept, () if kept else reasons


def _kinds(request: ChatRequest, policy: CachePolicy) -> tuple[str, ...]:
    if not _has_history(request):
        return ("standalone",)
    return _KINDS if policy.conversations == "resolved" else ("opaque",)


def _has_history(request: ChatRequest) -> bool:
    before = request.body["messages"][:-1]
    return any(not isinstance(turn, dict) or turn.get("role") not in _INSTRUCTIONS for turn in before)


def _read(request: ChatRequest, kinds: Iterable[str]) -> Reading:
    asked, possible = request.prompt or "", tuple(kinds)
    if request.prompt is None or len(possible) == 1:
        return Reading("standalone" if possible == ("standalone",) else "opaque", asked, b"")
    reading = read(request.body["messages"], request.system)
    return reading if reading.kind in RESOLVED else Reading("opaque", asked, b"")


async def _cosine(encoder: Encoder, one: str, other: str) -> float | None:
    try:
        left, right = await encoder.encode(one), await encoder.encode(other)
    except EncoderError:
        return None
    if left.encoder != right.encoder:
        return None
    return encoder.to_reference(left.encoder, float(left.vector @ right.vector))


async def _small_talk(encoder: Encoder, texts: Sequence[str], kin: Judge) -> dict[str, float]:
    """Give the log-odds that texts are small talk, of those of which it can be told; of too many, none."""
    if len(texts) > _MOST_TEXTS:
        return {}
    found: dict[str, float] = {}
    for text in texts:
        try:
            vector = await encoder.encode(text)
        except EncoderError as error:
            if error.is_refusal:
                continue
            raise
        odds = kin.small_talk(encoder.name_of(vector.encoder), vector.vector)
        if odds is not None:
            found[text] = odds
    return found


async def _last(
    encoder: Encoder, policy: CachePolicy, request: ChatRequest, entry: Entry, embedding: Embedding
) -> float:
    """Similarity of the last questions; equal ones are equal, whatever an encoder says."""
    prompt = request.prompt or ""
    if canonical_text(prompt) == canonical_text(entry.prompt):
        return 1.0
    try:
        left, right = await encoder.encode(prompt), await encoder.encode(entry.prompt)
    except EncoderError as error:
        if error.is_refusal:
            return -1.0
        raise
    if left.encoder != right.encoder or left.encoder != embedding.encoder:
        return -1.0
    found = similarity_of(encoder, policy, left.encoder, float(left.vector @ right.vector))
    return -1.0 if found is None else found
