"""Frozen value types that every room of semcache shares.

No behaviour beyond small properties; nothing here knows HTTP, Redis, FAISS or a model. Times are Unix
seconds (float), durations are seconds, similarities are cosines in [-1, 1] where higher is stricter.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NewType

import numpy as np
from numpy.typing import NDArray

# Named twice: that is how a module says that it hands a name on.
from semcache.cost_rules import Labels as Labels  # noqa: PLC0414  handed on
from semcache.gate_rules import Effect as Effect  # noqa: PLC0414  handed on
from semcache.gate_rules import GateRules as GateRules  # noqa: PLC0414  handed on
from semcache.records import Outcome as Outcome  # noqa: PLC0414  handed on
from semcache.records import RequestRecord as RequestRecord  # noqa: PLC0414  handed on
from semcache.records import Usage as Usage  # noqa: PLC0414  handed on
from semcache.review_rules import Confirmation as Confirmation  # noqa: PLC0414  handed on
from semcache.review_rules import ConfirmedBy as ConfirmedBy  # noqa: PLC0414  handed on
from semcache.review_rules import DraftPolicy as DraftPolicy  # noqa: PLC0414  handed on
from semcache.review_rules import DraftRecord as DraftRecord  # noqa: PLC0414  handed on
from semcache.review_rules import Review as Review  # noqa: PLC0414  handed on
from semcache.review_rules import ReviewPolicy as ReviewPolicy  # noqa: PLC0414  handed on
from semcache.review_rules import ReviewStatus as ReviewStatus  # noqa: PLC0414  handed on
from semcache.risk_rules import AloneRule as AloneRule  # noqa: PLC0414  handed on
from semcache.risk_rules import AuditPolicy as AuditPolicy  # noqa: PLC0414  handed on
from semcache.risk_rules import RiskPolicy as RiskPolicy  # noqa: PLC0414  handed on
from semcache.risk_rules import UntilProven as UntilProven  # noqa: PLC0414  handed on

TenantId = NewType("TenantId", str)
EntryId = NewType("EntryId", str)
EncoderId = NewType("EncoderId", str)
"""Generation of an encoder: model, weights, dimension, normalisation and text template in one word."""
ExactKey = NewType("ExactKey", str)
"""Hex digest of namespace and canonical last user text: the exact tier."""

Vector = NDArray[np.float32]
"""float32 [d], unit length."""

JsonObject = Mapping[str, Any]
"""A parsed JSON object as it came over the wire."""


class Mode(StrEnum):
    """What a policy (or a client, which can only tighten) lets the cache do."""

    OFF = "off"
    SHADOW = "shadow"
    EXACT = "exact"
    SEMANTIC = "semantic"


class Scope(StrEnum):
    """Who inside a tenant may share an entry; what crosses tenants stands in a tenant of its own (`review_rules`)."""

    USER = "user"
    TENANT = "tenant"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as authentication decided it; nothing a client merely claims.

    `principal` is the digest of a passed-through bearer ("" for configured keys and anonymous
    loopback callers); entries of different principals never mix. `authorization` is the
    header value to send upstream when the client's own key passes through.
    """

    tenant: TenantId
    principal: str = ""
    key_name: str = ""
    authorization: str | None = None
    by_key: bool = False
    """The key came as such (`x-api-key` and the like), not as a bearer token."""
    labels: Labels = ()
    """Labels that belong to the key: they hold whatever the client says."""


@dataclass(frozen=True, slots=True)
class Directives:
    """What the client asked of the cache (headers, and LiteLLM's `cache` body object).

    All of it can only tighten the policy: shorter lives, stricter thresholds, narrower scopes.
    """

    no_read: bool = False
    no_store: bool = False
    max_age: float | None = None
    only_if_cached: bool = False
    mode: str = "auto"
    ttl: float | None = None
    threshold: float | None = None
    namespace: str = ""
    user: str = ""
    domain: str = ""
    tags: tuple[str, ...] = ()
    labels: Labels = ()
    history: str = ""
    """How its history may be trimmed: "", or a `cost_rules.Trimming` that the client asks for."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One chat request, normalised from its dialect.

    `body` is the request as a chat body (our own `cache` object already removed); it goes upstream unless `native`
    is given: the request in the words of `dialect`, for an upstream that speaks it. `extra` holds what of it has no
    word in chat and counts all the same, `unsayable` names what would be lost without it. `prompt` is the text
    of the last message when that is a user's text, else None: then only the exact tier applies.
    `exact_only` and `uncacheable` name the feature that closes the semantic tier or the whole
    cache ("tools", "n", "seed", "images", ...), or are None.
    """

    dialect: str
    path: str
    body: JsonObject
    model: str
    stream: bool
    include_usage: bool
    prompt: str | None
    system: str
    user_turns: int
    message_count: int
    temperature: float | None
    end_user: str
    exact_only: str | None = None
    uncacheable: str | None = None
    native: JsonObject | None = None
    extra: JsonObject = field(default_factory=dict)
    unsayable: tuple[str, ...] = ()
    query: bytes = b""
    uncacheable_in_chat: str | None = None
    """`uncacheable` of the same request asked in chat: what an upstream of its own dialect would keep plays no part there."""
    keys: dict[Hashable, tuple[Namespace, ExactKey]] = field(default_factory=dict, compare=False, repr=False)
    """What the request was hashed to, by who asked: a memo of those who read it, not a part of it."""


@dataclass(frozen=True, slots=True)
class Namespace:
    """Everything that must be equal before similarity counts.

    `digest` is the hex SHA-256 over tenant, scope, principal, effective model, system prompt, history, tools, sampling
    and every unknown field, length-prefixed; not over the encoder: vectors carry their `EncoderId` themselves.
    """

    tenant: TenantId
    digest: str


@dataclass(frozen=True, slots=True)
class Embedding:
    """One text as the encoder sees it: `vector` float32 [d] unit length, and whose it is."""

    vector: Vector
    encoder: EncoderId


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entry near the asked text; `cosine` is raw, on the encoder's own scale, in [-1, 1]."""

    entry_id: EntryId
    cosine: float


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole, successful answer.

    `body` is the canonical JSON of the protocol's answer object without its `id` and `created`. `chunks` holds the
    stream's own chunk objects (JSON array, same omissions) when putting them together lost something; such an
    answer is replayed to streams only, and `body` is then informative. `native` is the answer object in the words of
    the dialect that the entry's namespace names, when `body` does not say all of it.
    """

    body: bytes
    usage: Usage | None
    chunks: bytes | None = None
    has_tool_calls: bool = False
    native: bytes | None = None

    @property
    def size(self) -> int:
        """Bytes held."""
        return len(self.body) + len(self.chunks or b"") + len(self.native or b"")


@dataclass(frozen=True, slots=True)
class Epochs:
    """Invalidation counters an entry was born under: tenant, namespace, model and each tag.

    An entry whose counters differ from the store's present ones is dead, whatever its age.
    Keys are `""` (tenant), `"ns:<digest>"`, `"model:<name>"`, `"subject:<digest>"`, `"tag:<tag>"`; absent means 0.
    """

    values: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored answer with everything needed to decide whether it may be served.

    `prompt` is the last user text as asked. `embedding` is None when the text was never
    encoded or may not be matched semantically (too long for the encoder, exact-only request).
    `context` is what was said before and bears on it, as `decide.context` wrote it down. `origin` says what it
    was made from (`draft:<entry>`, `edit:<entry>`; "" for a model's own answer), `seconds` how long that took;
    `author` is a digest of who asked first, `subject` one of the end user alone, by which everything of theirs is
    found to be erased ("": none was named), `commons` the namespace it would have if it were public ("": it may
    not become so). `barred` holds the questions (`asked_digest`) that it must never answer again, or `WHOLE`; the
    store keeps them apart from the entry, and they outlive it. `confirmed` names the users (as `author` does) known
    to have got this answer from the model themselves, the author among them where a key of the tenant's vouches
    for the name; what others than the author add to it is kept beside the entry and goes with it. `worth` is what making
    it cost in micro-USD (0: nobody knows), `holder` a digest of the API key whose share of the tenant's room it takes ("": none).
    """

    id: EntryId
    tenant: TenantId
    namespace: str
    key: ExactKey
    domain: str
    model: str
    prompt: str
    completion: Completion
    created_at: float
    expires_at: float
    embedding: Embedding | None = None
    tags: tuple[str, ...] = ()
    status: ReviewStatus = ReviewStatus.UNREVIEWED
    version: int = 1
    epochs: Epochs = field(default_factory=Epochs)
    context: bytes = b""
    review: Review = field(default_factory=Review)
    origin: str = ""
    author: str = ""
    seconds: float = 0.0
    commons: str = ""
    barred: frozenset[str] = frozenset()
    subject: str = ""
    confirmed: frozenset[str] = frozenset()
    worth: float = 0.0
    holder: str = ""

    def age(self, now: float) -> float:
        """Seconds since the answer was produced; never negative, whatever the clock did."""
        return max(0.0, now - self.created_at)

    def is_fresh(self, now: float) -> bool:
        """True while the lifetime its policy gave it has not run out."""
        return now < self.expires_at


Curve = tuple[tuple[float, float], ...]
"""Points (raw cosine, similarity on the reference scale), both rising; between them the way is straight."""


@dataclass(frozen=True, slots=True)
class EncoderScale:
    """How an encoder without a calibration table is read: the least of what all curves give."""

    encoder: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """What the rules say for one request: a tenant's domain after every tightening.

    Thresholds are on the reference scale (see glossary). `draft_threshold` equal to
    `threshold` means no draft band. `encoder_scales`, sorted by encoder name, lead to that
    scale for encoders that have no calibration table.
    """

    tenant: TenantId
    domain: str
    mode: Mode
    threshold: float
    verified_threshold: float
    draft_threshold: float
    scope: Scope
    ttl: float
    ttl_jitter: float
    gate: GateRules
    volatile_ttl: float = 300.0
    max_age: float | None = None
    max_temperature: float = 0.3
    allow_default_temperature: bool = True
    max_user_turns: int = 20
    allow_tools: bool = True
    store: bool = True
    max_entry_bytes: int = 1 << 20
    usage_on_hit: str = "zero"
    neighbours: int = 8
    generation: str = ""
    store_tool_calls: bool = False
    encoder_scales: tuple[EncoderScale, ...] = ()
    alone: AloneRule = field(default_factory=AloneRule)
    conversations: str = "resolved"
    verifier: bool = True
    min_score: float = 0.5
    risk: RiskPolicy = field(default_factory=RiskPolicy)
    audit: AuditPolicy = field(default_factory=AuditPolicy)
    drafts: DraftPolicy = field(default_factory=DraftPolicy)
    review: ReviewPolicy = field(default_factory=ReviewPolicy)
    confirmation: Confirmation = field(default_factory=Confirmation)
    commons: bool = False
    edition: str = ""
    """Digest of what the tenant's file says about this domain: flags of reviewers are bound to it."""

    @property
    def floor(self) -> float:
        """The lowest similarity at which an entry is of any use to this request.

        Below the threshold for one that stands alone, others still say whether it does.
        """
        alone = self.alone.threshold - self.alone.margin
        return min(self.threshold, self.verified_threshold, self.draft_threshold, alone)

    def curves_of(self, encoder: str) -> tuple[Curve, ...]:
        """Give the curves of an encoder by its name; none means the policy states nothing for it."""
        return next((scale.curves for scale in self.encoder_scales if scale.encoder == encoder), ())


@dataclass(frozen=True, slots=True)
class Bypass:
    """The cache has no part in this request, for a `reason`."""

    reason: str


@dataclass(frozen=True, slots=True)
class Hit:
    """Serve `entry`. `similarity` is on the reference scale, 1.0 for an exact hit; `score` the verifier's.

    `shadow`: it would be served, but the evidence of the domain does not allow it yet, or, where it is
    `unconfirmed`, too few have got this answer from the model themselves (`decide.confirming`); `also` are
    entries of which the same is true, further away.
    """

    entry: Entry
    exact: bool
    similarity: float
    score: float | None = None
    shadow: bool = False
    unconfirmed: bool = False
    also: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """`entry` is close but not safe: a model may revise it. `reasons` are what stands against serving it, if any."""

    entry: Entry
    similarity: float
    reasons: tuple[str, ...] = ()
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Miss:
    """Nothing stored may be reused; `reason` names the nearest obstacle, `vetoes` the gate's words."""

    reason: str
    vetoes: tuple[str, ...] = ()
    similarity: float | None = None
    score: float | None = None


Decision = Bypass | Hit | Draft | Miss
