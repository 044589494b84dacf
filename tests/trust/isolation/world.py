"""Who may ask, what an ask says, under which policies, and who is to share an answer with whom. Pure.

`Ask` is one request before it is written in a dialect; `seat_of` names all that must be equal before two of them share
an answer by meaning, `exact_of` before they share it at all. Both are told from the documents, in words of their own: no
code of semcache takes part, so that they can be held against what it does.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from enum import StrEnum

from tests.trust.isolation.corpus import LEANING_WISH, WISHES, Wish


class State(StrEnum):
    """What a tenant's policy says at a time."""

    BASE = "base"
    USER = "user"
    """Scope user instead of tenant."""
    EXACT = "exact"
    OFF = "off"
    REVOKED = "revoked"
    """The spare key is not among the keys."""
    REMOVED = "removed"
    """There is no such tenant."""
    CLOSED = "closed"
    """Unknown keys are refused; else one tenant takes them in."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant: its keys (the last is the spare one), and what its policy may become while it runs."""

    name: str
    keys: tuple[str, ...]
    states: tuple[State, ...] = (State.BASE,)
    scope: str = "tenant"
    conversations: str = "resolved"
    passes: bool = False
    """Unknown keys go on to the upstream, each with a partition of its own."""


TENANTS: tuple[Tenant, ...] = (
    Tenant("acme", ("sk-acme-1", "sk-acme-2"), (State.BASE, State.REVOKED, State.USER)),
    Tenant("beta", ("sk-beta-1",), scope="user"),
    Tenant(
        "gamma",
        ("sk-gamma-1", "sk-gamma-2"),
        (State.BASE, State.USER, State.OFF, State.EXACT, State.REMOVED, State.REVOKED),
        conversations="equal",
    ),
    Tenant(
        "open", ("sk-stranger-1", "sk-stranger-2", "sk-stranger-3"), (State.BASE, State.CLOSED), passes=True
    ),
)
STRANGERS = "open"
"""The tenant that takes in keys that nobody knows."""
BY_NAME = {tenant.name: tenant for tenant in TENANTS}

NAMESPACES = ("", "blue", "green")
USERS = ("", "ann", "bob", "cid")
MODELS = ("m-a", "m-b", "m-c")
SYSTEMS = ("", "You always answer in one short line.", "You never answer in one short line.")
TOOLS = ("", "lookup", "search")
LANGUAGES = ("", "de", "fr")
EXTRAS = ("", "left", "right")
"""Values of a field that nobody has heard of."""
TAGS = ("kb-1", "kb-2", "kb-3")
TEMPERATURES = (None, 0, 0.2)
DIALECTS = ("chat", "anthropic", "ollama", "responses")
MAX_TOKENS = 100
"""Anthropic's clients must name a limit."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request of one caller. `number` is its place in the plan, and its name."""

    number: int
    tenant: str
    key: str
    wish: Wish = field(repr=False)
    text: str
    user: str = ""
    user_by: str = "field"
    namespace: str = ""
    model: str = MODELS[0]
    system: str = ""
    topic: str = ""
    tools: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    language: str = ""
    extra: str = ""
    tags: tuple[str, ...] = ()
    dialect: str = "chat"
    stream: bool = False
    no_store: bool = False
    no_cache: bool = False

    @property
    def owner(self) -> Tenant:
        return BY_NAME[self.tenant]


@dataclass(frozen=True, slots=True)
class Seat:
    """All that must be equal before similarity counts."""

    tenant: str
    principal: str
    scope: str
    owner: str
    namespace: str
    model: str
    system: str
    tools: str
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExactSeat:
    """All that must be equal for two requests to be one."""

    seat: Seat
    topic: str
    text: str


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for a caller at a time: the policy of its tenant, and that of the tenant that takes in strangers."""

    own: State = State.BASE
    door: State = State.BASE


def admitted(ask: Ask, rules: Rules) -> tuple[Ask, State] | None:
    """Give the ask as that of the tenant whose caller it is, and that tenant's state; None: nobody lets it in.

    A key that a tenant lost is a stranger's like any other.
    """
    lost = rules.own is State.REMOVED or (rules.own is State.REVOKED and ask.key == ask.owner.keys[-1])
    if not (lost or ask.owner.passes):
        return ask, rules.own
    if rules.door is State.CLOSED:
        return None
    return replace(ask, tenant=STRANGERS), rules.door


def seat_of(ask: Ask, rules: Rules) -> Seat | None:
    """Give who may share with this ask; None when the cache has no part in it."""
    found = admitted(ask, rules)
    if found is None or found[1] is State.OFF or (ask.no_store and ask.no_cache):
        return None
    ask, state = found
    scope = "user" if State.USER is state or ask.owner.scope == "user" else "tenant"
    if ask.user and ask.user_by == "header":
        # Who names a user in the header narrows the scope of the request.
        scope = "user"
    if scope == "user" and not ask.user:
        return None
    parameters = (str(ask.temperature), str(ask.max_tokens), ask.language, ask.extra)
    return Seat(
        tenant=ask.tenant,
        principal=ask.key if ask.owner.passes else "",
        scope=scope,
        owner=ask.user if scope == "user" else "",
        namespace=ask.namespace,
        model=ask.model,
        system=ask.system,
        tools=ask.tools,
        parameters=parameters,
    )


def exact_of(ask: Ask, rules: Rules) -> ExactSeat | None:
    """Give what must be equal for this ask to be the same as another; None when the cache has no part in it."""
    seat = seat_of(ask, rules)
    return None if seat is None else ExactSeat(seat, ask.topic, ask.text)


def author_of(ask: Ask, rules: Rules) -> tuple[str, ...] | None:
    """Name who asks, as far as an answer can be kept for its author alone."""
    seat = seat_of(ask, rules)
    return None if seat is None else (seat.tenant, seat.principal, seat.owner, ask.user)


def may_meet(asked: Ask, made: Ask, rules: Rules) -> bool:
    """True when a question may be answered by meaning with what was made for the other one (their seats are equal)."""
    found = admitted(asked, rules)
    if found is None or asked.tools or found[1] is State.EXACT or asked.wish.name != made.wish.name:
        return False
    asked = found[0]
    if asked.wish.leans or asked.owner.conversations == "equal":
        return asked.topic == made.topic
    return True


@dataclass(frozen=True, slots=True)
class Size:
    """How many of everything take part: fewer make more hits in a short run."""

    wishes: tuple[Wish, ...] = WISHES
    namespaces: tuple[str, ...] = NAMESPACES
    users: tuple[str, ...] = USERS
    models: tuple[str, ...] = MODELS
    systems: tuple[str, ...] = SYSTEMS
    leaning: Wish = field(default=LEANING_WISH)


SMALL = Size(WISHES[:8], NAMESPACES[:2], USERS[:3], MODELS[:2], SYSTEMS)


def policy_of(tenant: Tenant, state: State) -> str:
    """Write a tenant's policy file (never for `REMOVED`). Nothing is audited: calls would come by chance."""
    keys = tenant.keys[:-1] if state is State.REVOKED else tenant.keys
    hashes = "".join(
        f'\n    - {{name: key{number}, hash: "sha256:{hashlib.sha256(key.encode()).hexdigest()}"}}'
        for number, key in enumerate(keys)
    )
    passes = tenant.passes and state is not State.CLOSED
    mode = {State.OFF: '"off"', State.EXACT: "exact"}.get(state, "semantic")
    scope = "user" if state is State.USER else tenant.scope
    return (
        f"schema_version: 1\ntenant: {tenant.name}\n"
        f"access:\n  keys:{' []' if tenant.passes else hashes}\n  anonymous: never\n"
        f"  unknown_keys: {'passthrough' if passes else 'reject'}\n"
        f"default_domain: chat\ndefaults:\n  mode: {mode}\n  scope: {scope}\n"
        f"  conversations: {tenant.conversations}\n  audit: {{enabled: false}}\n"
        # Complaints here are about right answers: they must not close the domain.
        "  risk: {budget: 0.5, feedback_weight: 0.001}\n"
        "domains:\n  chat:\n    threshold: 0.85\n    alone: {threshold: 0.70, margin: 0.10, min_score: 0.88}\n"
        "assign: {header: false, rules: []}\n"
    )
