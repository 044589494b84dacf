"""The jobs of `semcache warm`: chat bodies to compute, how they are prepared, and who computes them.

Prepares them as the proxy prepares a request of the same tenant, so that requests find them. Knows the
engine and the shelf, no screen.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from semcache.answer.engine_door import EngineDoor, EngineState
from semcache.answer.warmbook import BookRules, Remembered, best_first
from semcache.answer.warming import readable, worth_it
from semcache.core import TenantId
from semcache.dialects.chat.request import parse_chat
from semcache.engine.launch import socket_path
from semcache.errors import EngineError, RequestError, SemcacheError, StoreError, UpstreamError
from semcache.parts import policies_of
from semcache.policy.snapshot import PolicySnapshot
from semcache.prefix_parts import OWNERS_FILE, engine_door, open_shelf, prefixes_of, warm_rules
from semcache.prefixes import Prefixes
from semcache.process import SystemClock
from semcache.settings import Settings
from semcache.store.warm_shelf import WarmShelf

_LONGEST_LINE = 16 << 20


@dataclass(frozen=True, slots=True)
class Job:
    """One prompt to compute: whose, what it is called on the screen, and its chat body."""

    tenant: TenantId
    owner: str
    name: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a job: tokens of the prompt, of them computed now; `problem` is empty when all is well."""

    name: str
    tokens: int = 0
    computed: int = 0
    seconds: float = 0.0
    problem: str = ""


def read_jobs(file: Path, tenant: TenantId) -> list[Job]:
    """Read chat bodies.

    Raises:
        SemcacheError: unreadable, or a line is no chat body; says which line.
    """
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise SemcacheError(f"{file} cannot be read: {error.strerror}") from None
    jobs = [_job(f"{file.name}:{n}", line, tenant) for n, line in enumerate(lines, 1) if line.strip()]
    if not jobs:
        raise SemcacheError(f"{file} holds no chat body")
    return jobs


def _job(name: str, line: bytes, tenant: TenantId) -> Job:
    try:
        body = json.loads(line[:_LONGEST_LINE])
        if not isinstance(body, dict):
            raise SemcacheError(f"{name}: should be a JSON object with messages")
        # The engine's own name goes in its place later.
        parse_chat({**body, "model": body.get("model") or "local"}, "/v1/chat/completions")
    except (ValueError, RecursionError):
        raise SemcacheError(f"{name}: is not JSON") from None
    except RequestError as error:
        raise SemcacheError(f"{name}: {error.message}") from None
    return Job(tenant, "", name, body)


async def _known(settings: Settings) -> list[Job]:
    async with _shelf(settings) as shelf:
        chosen = await worth_it(shelf, time.time(), warm_rules(settings), BookRules())
    return [
        Job(tenant, head.owner, f"{tenant} {head.key[:8]}", json.loads(head.body)) for tenant, head in chosen
    ]


# -- computing --------------------------------------------------------------------------------


async def compute(
    settings: Settings, url: str, jobs: list[Job] | None, begins: Callable[[str, int], None]
) -> list[Result]:
    """Have the engine compute jobs one after the other, or what is remembered when there are none.

    Args:
        settings: whose data directory, store and policies.
        url: the engine, or "" for that of the data directory.
        jobs: what to compute; None: what is remembered.
        begins: hears the name of each job as it begins, and how many there are.

    Raises:
        SemcacheError: no engine, no store, or no secret to name owners by.
    """
    door = engine_door(_address(settings, url))
    try:
        state = await _ready(door)
        snapshot = policies_of(settings)
        prefixes = prefixes_of(_with_secret(settings), SystemClock(), _at_once)
        todo = jobs if jobs is not None else await _known(settings)
        results = []
        for job in todo:
            begins(job.name, len(todo))
            results.append(await _one(door, _prepared(job, state, prefixes, snapshot), settings, job))
        return results
    finally:
        await door.aclose()


def _with_secret(settings: Settings) -> Settings:
    """Refuse to make a new secret: what is computed under one that no proxy has is never found."""
    if settings.engine.secret is None and not (settings.data / OWNERS_FILE).exists():
        raise SemcacheError(
            f"no proxy has run with the data directory {settings.data}, so its requests could not find what is computed; "
            "name the right one by --data, or the secret by engine.secret"
        )
    return settings


def _at_once(work: Callable[[], None]) -> None:
    work()


async def _ready(door: EngineDoor) -> EngineState:
    """Find the engine.

    Raises:
        SemcacheError: with what to do next.
    """
    try:
        state = await door.state()
    except (UpstreamError, EngineError):
        raise SemcacheError(
            "no engine is running here: start `semcache serve`, name its directory by --data, or give --url"
        ) from None
    if state is None:
        raise SemcacheError("the engine is loading its model; try again in a moment")
    return state


def _prepared(
    job: Job, state: EngineState, prefixes: Prefixes, snapshot: PolicySnapshot
) -> dict[str, Any] | None:
    return prefixes.rebuilt(job.tenant, job.owner, {**job.body, "model": state.model}, snapshot)


async def _one(door: EngineDoor, body: dict[str, Any] | None, settings: Settings, job: Job) -> Result:
    if body is None:
        return Result(job.name, problem=f"no policy lets tenant {job.tenant} reuse prompts")
    try:
        warmed = await door.warm(body, settings.prewarm.deadline)
    except (EngineError, UpstreamError) as error:
        return Result(job.name, problem=str(error))
    return Result(job.name, warmed.tokens, warmed.computed, warmed.seconds)


async def remembered(settings: Settings) -> list[tuple[TenantId, Remembered]]:
    """Give all that is remembered, in the order of computing.

    Raises:
        SemcacheError: no store answers.
    """
    async with _shelf(settings) as shelf:
        known = {tenant: readable(await shelf.read(tenant)) for tenant in await shelf.tenants()}
    return list(best_first(known, time.time(), BookRules()))


@contextlib.asynccontextmanager
async def _shelf(settings: Settings) -> AsyncIterator[WarmShelf]:
    shelf = open_shelf(settings)
    try:
        yield shelf
    except StoreError as error:
        _no_store(settings, error)
    finally:
        await shelf.aclose()


def _no_store(settings: Settings, error: StoreError) -> NoReturn:
    if error.kind != "down":
        raise error
    where = settings.store.url or f"the data directory {settings.data}"
    raise SemcacheError(
        f"no store answers at {where}: what is remembered is read where a proxy runs. "
        "Start one (semcache serve), or name its directory by --data, or its store.url by --config"
    ) from None


def _address(settings: Settings, url: str) -> str:
    if not url:
        return f"unix:{socket_path(settings.data)}"
    if not url.startswith(("http://", "https://")):
        raise SemcacheError(
            f"--url must begin with http:// or https://, as in http://{url.partition('/')[0]}"
        )
    return url.rstrip("/").removesuffix("/v1")
