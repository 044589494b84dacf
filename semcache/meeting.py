"""Where a request meets others by meaning: in which namespace, by which text, and whether what was said before agrees.

A single question meets in a namespace without history. So does the last question of a conversation
where nothing said before bears on it; one that leans on what was said meets others that do, by a text that
tells it whole, and the records of both conversations must agree. Everything else keeps its history in the
namespace and meets only what was said after the very same words. Knows no decision and no store.
"""

from __future__ import annotations

import asyncio
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
MOST_TEXTS = 4
"""Clauses that are embedded at most for one request to tell small talk: each costs a pass of the encoder."""


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
    texts only has to be near. With `kin`, chats told in other words may agree as well: it is asked of those whose
    last question is near enough to be of use.

    Raises:
        EncoderError: the encoder failed.
    """
    against: dict[int, tuple[str, ...]] = {}
    possible: dict[int, Candidate] = {}
    for place, candidate in enumerate(found):
        against[place] = agree(meeting.reading, _stored(meeting, candidate), kin=kin)
        if not against[place] and len(possible) < _MOST_JUDGED:
            possible[place] = candidate
    vectors = await _encoded(encoder, _questions(request, possible.values()))
    measured = {
        place: Candidate(one.entry, _last(encoder, policy, request, one.entry, embedding, vectors))
        for place, one in possible.items()
    }
    useful = {place for place, one in measured.items() if one.similarity >= policy.floor}
    opened = {
        place: open_texts(meeting.reading, _stored(meeting, possible[place]), kin)
        for place in sorted(useful)
        if kin is not None
    }
    talk = {} if kin is None else await _small_talk(encoder, _few(opened), kin)
    for place, one in measured.items():
        nearness = Nearness(possible[place].similarity, one.similarity)
        judge = kin if place in useful else None
        against[place] = agree(meeting.reading, _stored(meeting, one), nearness, judge, talk.get)
    kept = [one for place, one in measured.items() if not against[place]]
    return kept, () if kept else next(filter(None, against.values()), ())


def _stored(meeting: Meeting, candidate: Candidate) -> Reading:
    """Give the reading of an entry; the namespace says that both are of one kind."""
    return Reading(meeting.reading.kind, "", candidate.entry.context)


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


def _few(opened: Mapping[int, Sequence[str]]) -> tuple[str, ...]:
    """Give the texts of as many candidates, nearest first, as may be embedded; all of one, or none of it."""
    texts: dict[str, None] = {}
    for of_one in opened.values():
        more = texts | dict.fromkeys(of_one)
        texts = more if len(more) <= MOST_TEXTS else texts
    return tuple(texts)


async def _small_talk(encoder: Encoder, texts: Sequence[str], kin: Judge) -> dict[str, float]:
    """Give the log-odds that texts are small talk, of those of which it can be told."""
    found: dict[str, float] = {}
    for text, vector in (await _encoded(encoder, texts)).items():
        odds = kin.small_talk(encoder.name_of(vector.encoder), vector.vector)
        if odds is not None:
            found[text] = odds
    return found


async def _encoded(encoder: Encoder, texts: Iterable[str]) -> dict[str, Embedding]:
    """Embed texts, each once and all at a time; one that the encoder refuses is not among what is given."""
    every = tuple(dict.fromkeys(texts))
    # Every pass is waited for, so that none goes on when another has failed.
    vectors = await asyncio.gather(*(encoder.encode(text) for text in every), return_exceptions=True)
    found: dict[str, Embedding] = {}
    for text, vector in zip(every, vectors, strict=True):
        if not isinstance(vector, BaseException):
            found[text] = vector
        elif not (isinstance(vector, EncoderError) and vector.is_refusal):
            raise vector
    return found


def _questions(request: ChatRequest, candidates: Iterable[Candidate]) -> tuple[str, ...]:
    """Give the last questions that must be embedded to be compared: none where all are equal."""
    prompt = request.prompt or ""
    others = [one.entry.prompt for one in candidates if not _same(prompt, one.entry.prompt)]
    return (prompt, *others) if others else ()


def _same(one: str, other: str) -> bool:
    return canonical_text(one) == canonical_text(other)


def _last(
    encoder: Encoder,
    policy: CachePolicy,
    request: ChatRequest,
    entry: Entry,
    embedding: Embedding,
    vectors: Mapping[str, Embedding],
) -> float:
    """Similarity of the last questions; equal ones are equal, whatever an encoder says."""
    prompt = request.prompt or ""
    if _same(prompt, entry.prompt):
        return 1.0
    left, right = vectors.get(prompt), vectors.get(entry.prompt)
    if left is None or right is None or not left.encoder == right.encoder == embedding.encoder:
        return -1.0
    found = similarity_of(encoder, policy, left.encoder, float(left.vector @ right.vector))
    return -1.0 if found is None else found
