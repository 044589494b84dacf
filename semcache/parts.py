"""What a worker or a command is built from: encoder, store, upstreams.

Builders only; `app` puts them together.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import structlog

from semcache.answer.flight import Flights, Spawn
from semcache.answer.interpreting import Interpreter
from semcache.answer.shared import FlightLimits, Head
from semcache.asking.likeness import Similar, similar_by
from semcache.asking.pace import Pace
from semcache.core import CachePolicy, EntryId, TenantId
from semcache.decide.context import judge as chats
from semcache.decide.risk.prior import Prior
from semcache.decide.risk.standing import Standing, State
from semcache.decide.verify.verifier import ForestVerifier, open_prior, open_verifier
from semcache.dialects.chat.wire import CHAT
from semcache.dialects.dialect import Assembler
from semcache.dialects.table import BY_NAME
from semcache.embed.batcher import Limits as EncoderLimits
from semcache.embed.open import EncoderOptions, open_encoder
from semcache.embed.router import RoutedEncoder
from semcache.errors import EncoderError, PolicyError
from semcache.journey import Backend
from semcache.judging import judge
from semcache.models.catalogue import resolve
from semcache.policy.loader import load_default, load_directory
from semcache.policy.snapshot import PolicySnapshot
from semcache.policy.trial import Judge
from semcache.ports import Change, Clock, Encoder
from semcache.process import SystemClock
from semcache.settings import Settings
from semcache.store.embedded import embedded_url
from semcache.store.link import LinkRules
from semcache.store.redis_store import RedisStore, StoreRules

_log = structlog.get_logger()
_OWN_WORDS: dict[str, tuple[tuple[bytes, bytes], ...]] = {
    "anthropic.messages": ((b"anthropic-version", b"2023-06-01"),),
    "gemini.generate": (),
    "ollama.chat": (),
    "openai.responses": (),
}
"""Dialects that upstreams without chat are asked in, with the headers that those want."""
_COMMAND_DEADLINE = 10.0
"""Seconds a command waits where a request would wait a fraction of one."""


def open_store(settings: Settings) -> RedisStore:
    """Give the store of these settings for a command; the caller closes it.

    Raises:
        StoreError: the URL is not usable.
    """
    url = settings.store.url or embedded_url(settings.data)
    return RedisStore(url, SystemClock(), StoreRules(link=LinkRules(deadline=_COMMAND_DEADLINE)))


@asynccontextmanager
async def open_judge(settings: Settings) -> AsyncIterator[Judge]:
    """Give what judges a pair of questions as the proxy would, with the real encoder.

    Raises:
        EncoderError: it cannot be loaded.
    """
    async with AsyncExitStack() as stack:
        encoder = await open_encoder(encoder_options(settings, _COMMAND_DEADLINE))
        stack.push_async_callback(encoder.aclose)
        await encoder.warm()
        verifier = open_verifier()
        yield lambda a, b, policy: judge(encoder, verifier, a, b, policy)


def verifier_or_none() -> tuple[ForestVerifier | None, Prior | None]:
    """Load the verifier and the evidence of its calibration.

    Without one nothing is served by meaning where a policy wants it, and the log says so.
    """
    try:
        return open_verifier(), open_prior()
    except EncoderError as error:
        _log.error(
            "no verifier: only exact repeats will be served where policies ask for one", problem=str(error)
        )
        return None, None


def judge_of_chats(verifier: ForestVerifier | None) -> chats.ChatJudge | None:
    """Load what holds conversations against each other; without it they are matched by their words alone."""
    if verifier is None:
        return None
    try:
        return chats.open_judge(verifier)
    except EncoderError as error:
        _log.error("no judge of conversations: only those told in the same words match", problem=str(error))
        return None


def log_standing(tenant: TenantId, domain: str, standing: Standing) -> None:
    """Say that evidence has closed, tightened or opened a domain; one of which little is known is no news."""
    told: dict[str, Any] = {
        "tenant": tenant,
        "domain": domain,
        "state": standing.state.value,
        "served_from_score": standing.cut,
        "wrong_per_hit_at_most": round(standing.bound, 4),
    }
    match standing.state:
        case State.CLOSED | State.ALARMED:
            _log.warning("checked hits were wrong too often: a domain serves less by meaning", **told)
        case State.OPEN:
            _log.info("evidence proves what a domain may serve by meaning", **told)
        case State.THIN:
            return


async def open_or_do_without(settings: Settings, stack: AsyncExitStack) -> RoutedEncoder | None:
    """Open the encoder; without one the proxy serves exact repeats only, and says so."""
    try:
        encoder = await open_encoder(encoder_options(settings, settings.encoder.deadline))
    except EncoderError as error:
        _log.error("no encoder: only exact repeats will be served", problem=str(error))
        return None
    stack.push_async_callback(encoder.aclose)
    return encoder


def encoder_options(settings: Settings, deadline: float) -> EncoderOptions:
    """Give the encoder's options; `deadline` in seconds."""
    return EncoderOptions(
        latin=str(resolve(settings.encoder.latin, settings.data)),
        multilingual=str(resolve(settings.encoder.multilingual, settings.data)),
        device=settings.encoder.device,
        memo_entries=settings.encoder.memo,
        limits=EncoderLimits(deadline=deadline, queue=settings.encoder.queue),
    )


async def warm(encoder: RoutedEncoder) -> None:
    """Load what is not loaded yet; a failure shows in readiness."""
    try:
        await encoder.warm()
    except EncoderError as error:
        _log.error("an encoder cannot be loaded", problem=str(error))


def likeness(encoder: Encoder | None, clock: Clock) -> Similar | None:
    """Give what tells how alike a stored and a fresh answer are, where one may confirm the other.

    Each follows a call of the backend, so that a few a second are many.
    """
    return similar_by(encoder, Pace(rate=4.0, burst=16.0), clock) if encoder is not None else None


def policies_of(settings: Settings) -> PolicySnapshot:
    """Load the policies once, as a command does.

    Raises:
        PolicyError: the files are refused.
    """
    return load_directory(settings.policies) if settings.policies else load_default()


def upstreams_known(settings: Settings) -> Callable[[PolicySnapshot], None]:
    """Give a check of policies that refuses a tenant whose upstream is not configured."""

    def check(snapshot: PolicySnapshot) -> None:
        for tenant in snapshot.tenants:
            told = snapshot.tenant(tenant)
            named = (place for domain, policy in told.domains.items() for place in _named(domain, policy))
            places: list[_Named] = [(("upstream",), snapshot.upstream(tenant) or ""), *named]
            for place, name in places:
                if name and name not in settings.upstream_names:
                    known = ", ".join(sorted(settings.upstream_names))
                    raise PolicyError(
                        f"{place[-1]}: the configuration has no upstream {name!r}; it has: {known}",
                        f"{told.source.file}:{told.source.line(*place)}",
                    )

    return check


_Named = tuple[tuple[str, ...], str]


def _named(domain: str, policy: CachePolicy) -> Iterator[_Named]:
    """Name the upstreams that a domain wants beside the one that answers, each with its place in the file."""
    for part, knob, wish in (
        ("audit", "judge", policy.audit.judge),
        ("review", "judge", policy.review.judge),
        ("drafts", "reviser", policy.drafts.reviser),
    ):
        yield ("domains", domain, part, knob), wish.partition("/")[0]


def tell(listeners: Sequence[Callable[[Change], None]], change: Change) -> None:
    """Let everybody hear of a change in the store."""
    for listen in listeners:
        listen(change)


def interpreted(
    backends: Mapping[str, Backend], new_id: Callable[[], str], now: Callable[[], float]
) -> dict[str, Backend]:
    """Give the same backends, those that speak no chat with one who does it for them.

    Args:
        backends: by name.
        new_id: gives a fresh id in hex digits.
        now: Unix seconds.
    """
    return {name: _with_chat(backend, new_id, now) for name, backend in backends.items()}


def _with_chat(backend: Backend, new_id: Callable[[], str], now: Callable[[], float]) -> Backend:
    own = next((name for name in _OWN_WORDS if name in backend.speaks and name in BY_NAME), None)
    if CHAT.name in backend.speaks or own is None:
        return backend
    headers = _OWN_WORDS[own]
    return replace(backend, generator=Interpreter(backend.generator, BY_NAME[own], headers, new_id, now))


def assembler_for(dialect: str, head: Head) -> Assembler | None:
    """Collect answers in a dialect, in either wire mode; nothing else is one."""
    return BY_NAME[dialect].assembler(head.content_type)


def flights_of(settings: Settings, spawn: Spawn) -> Flights:
    """Give who shares one call among all who ask the same, with a reader's deadline as it is configured."""
    return Flights(spawn, FlightLimits(write_deadline=settings.limits.write_seconds))


class Ids:
    """Fresh ids of requests, completions and entries: unique, and not secret, so no system call is made for each."""

    def __init__(self) -> None:
        self._random = random.Random(secrets.randbits(256))  # noqa: S311 - names nothing that must not be guessed

    def request(self) -> str:
        """Give a fresh request id."""
        return f"req_{self._random.getrandbits(96):024x}"

    def completion(self) -> str:
        """Give a fresh id in hex digits; the dialect puts its word before it."""
        return f"{self._random.getrandbits(96):024x}"

    def entry(self) -> EntryId:
        """Give a fresh entry id: hex digits, one word to a mouse, never taken for a flag."""
        return EntryId(f"{self._random.getrandbits(64):016x}")
