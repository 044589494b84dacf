"""What the proxy's side of prefix reuse is built from: the secret, the owners' names, shelf, door, prewarming.

Builders only; `app` and the command line put them together.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path

from semcache.answer.engine_door import EngineDoor
from semcache.answer.limits import Limits as UpstreamLimits
from semcache.answer.owners import Owners
from semcache.answer.upstream import HttpUpstream
from semcache.answer.warmbook import WarmBook
from semcache.answer.warming import Told, Warming, WarmRules
from semcache.engine.limits import TenantLimit
from semcache.errors import PolicyError
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Clock
from semcache.prefixes import Prefixes
from semcache.settings import Settings, resolve_secret
from semcache.store.embedded import embedded_url
from semcache.store.link import LinkRules
from semcache.store.warm_shelf import WarmShelf

OWNERS_FILE = "owners.key"
_SECRET_LEAST = 32
_WARM_AT_MOST = 3600.0
_SHELF_DEADLINE = 2.0


def prefixes_of(settings: Settings, clock: Clock, later: Callable[[Callable[[], None]], object]) -> Prefixes:
    """Give what the local engine is told about prompts; `later` as for `Prefixes`.

    Raises:
        PolicyError: the secret cannot be had.
    """
    book = WarmBook() if settings.prewarm.enabled else None
    return Prefixes(Owners(installation_secret(settings)), book, clock, later)


def engine_door(address: str) -> EngineDoor:
    """Give the door to an engine for what is no request; `address` is unix:/path or an http URL."""
    limits = UpstreamLimits(connect=5.0, head=_WARM_AT_MOST, idle=_WARM_AT_MOST, connections=4)
    return EngineDoor(HttpUpstream("engine", address, limits))


def open_shelf(settings: Settings, url: str = "") -> WarmShelf:
    """Give where prompts worth computing beforehand are remembered; the caller closes it.

    Raises:
        StoreError: the URL is not usable.
    """
    url = url or settings.store.url or embedded_url(settings.data)
    return WarmShelf(url, LinkRules(deadline=_SHELF_DEADLINE, connections=2))


def warming_of(
    settings: Settings,
    prefixes: Prefixes,
    shelf: WarmShelf,
    door: EngineDoor,
    policies: Callable[[], PolicySnapshot],
    told: Told,
) -> Warming:
    """Give the prewarming of a worker."""
    return Warming(
        book=prefixes.book or WarmBook(),
        shelf=shelf,
        door=door,
        rebuild=lambda tenant, owner, body: prefixes.rebuilt(tenant, owner, body, policies()),
        clock=prefixes.clock,
        name=secrets.token_hex(8),
        told=told,
        rules=warm_rules(settings),
    )


def warm_rules(settings: Settings) -> WarmRules:
    """Give how prewarming goes about."""
    wanted = settings.prewarm
    return WarmRules(
        write_every=wanted.write_every,
        deadline=wanted.deadline,
        busy=wanted.busy,
        heads=wanted.heads,
        tokens=wanted.tokens,
    )


def engine_limits(settings: Settings, policies: PolicySnapshot) -> tuple[TenantLimit, ...]:
    """Give what each tenant with limits may fill of the engine's memory.

    Raises:
        PolicyError: the secret cannot be had.
    """
    owners = Owners(installation_secret(settings))
    rules = ((tenant, policies.prefix(tenant)) for tenant in policies.tenants)
    return tuple(
        TenantLimit(owners.tenant(tenant), rule.reserve_tokens, rule.max_tokens)
        for tenant, rule in rules
        if rule.reserve_tokens or rule.max_tokens is not None
    )


def installation_secret(settings: Settings) -> bytes:
    """Give the secret under which owners of prompts are named: the configured one, or one made once for this data directory.

    Raises:
        PolicyError: it is too short, or its file can be neither read nor made.
    """
    if settings.engine.secret is not None:
        text = resolve_secret(settings.engine.secret)
        if len(text) < _SECRET_LEAST:
            raise PolicyError(f"engine.secret: should be at least {_SECRET_LEAST} characters")
        return hashlib.sha256(text.encode()).digest()
    path = settings.data / OWNERS_FILE
    try:
        text = _read_or_make(path)
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)  # a copy or a volume's mount has opened it
    except OSError as error:
        raise PolicyError(f"{path} can be neither read nor made: {error.strerror}") from None
    if len(text) < _SECRET_LEAST:
        raise PolicyError(f"{path} is damaged; remove it, and a new one is made")
    return hashlib.sha256(text.encode()).digest()


def _read_or_make(path: Path) -> str:
    """Read a secret; make it if there is none. Whole or not at all, and the same for all who make it at once."""
    with contextlib.suppress(FileNotFoundError):
        return path.read_text(encoding="ascii", errors="replace").strip()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".owners-", dir=path.parent)  # readable by its owner alone
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(32) + "\n")
            file.flush()
            os.fsync(handle)
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(name)
    finally:
        Path(name).unlink()
    return path.read_text(encoding="ascii", errors="replace").strip()
