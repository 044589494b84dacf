"""Review over fakes: two tenants, some entries, and people of every role."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import orjson
from fastapi import FastAPI

from semcache.archive.erasing import Plan
from semcache.archive.errors import ArchiveError
from semcache.core import Completion, Entry, EntryId, ExactKey, TenantId, Usage
from semcache.embed.fingerprint import key_in, subject_digest
from semcache.policy.loader import load_directory
from semcache.policy.snapshot import PolicySnapshot
from semcache.review.access import Reviewer, Role, Tokens, TokenSpec, Tries
from semcache.review.api import guarded, review_app
from semcache.review.bulk import Bulk
from semcache.review.costing import Costing
from semcache.review.guard import GuardRules
from semcache.review.looking import Looking, Shelf
from semcache.review.service import ReviewRules, ReviewService
from semcache.review_port import Sighting
from semcache.store.erasure import Whom
from tests.fakes.entry_store import FakeEntryStore
from tests.fakes.evidence import FakeEvidence
from tests.fakes.review_queue import FakeReviewQueue
from tests.fakes.verdicts import FakeVerdicts
from tests.review.costs import Costs

ACME, OTHER = TenantId("acme"), TenantId("other")
NOW = 1_790_000_000.0
ASKED = "a" * 24
NAMESPACE, COMMONS = "1" * 64, "2" * 64
POLICY = """\
schema_version: 1
tenant: {tenant}
access:
  anonymous: {anonymous}
default_domain: chat
domains:
  chat:
    mode: semantic
    threshold: 0.9
    verified_threshold: 0.85
    store: {{max_entry_bytes: 2000}}
costs:
  budgets:
    - {{name: all, window: month, hard_usd: 100, soft_usd: 60}}
    - {{name: web, window: day, labels: {{project: web}}, requests: 1000}}
"""


@dataclass
class Clock:
    time: float = NOW

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


def policies(folder: Path) -> PolicySnapshot:
    for tenant, anonymous in ((ACME, "loopback"), (OTHER, "never")):
        (folder / f"{tenant}.yaml").write_text(POLICY.format(tenant=tenant, anonymous=anonymous))
    return load_directory(folder)


def answer(text: str, **message: Any) -> Completion:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, **message},
        "finish_reason": "stop",
    }
    document = {"object": "chat.completion", "model": "m", "choices": [choice]}
    return Completion(orjson.dumps(document), Usage(10, 5), has_tool_calls="tool_calls" in message)


def entry(name: str, prompt: str = "", text: str = "Paris.", tenant: TenantId = ACME, **more: Any) -> Entry:
    prompt = prompt or f"What is {name}?"
    made = Entry(
        id=EntryId(name),
        tenant=tenant,
        namespace=NAMESPACE,
        key=ExactKey(key_in(NAMESPACE, prompt)),
        domain="chat",
        model="m",
        prompt=prompt,
        completion=answer(text),
        created_at=NOW - 100,
        expires_at=NOW + 1000,
        author="b" * 24,
        commons=COMMONS,
    )
    return replace(made, **more)


ROLES = {role: Reviewer(f"{role}-of-acme", role, frozenset([ACME])) for role in Role}
VIEWER, REVIEWER, OPERATOR = (ROLES[role] for role in Role)
SECRETS = {role: f"{role}-secret-long-enough" for role in Role}


@dataclass
class FakeEraser:
    """Erases nobody, and remembers who should have been."""

    found: dict[str, int] = field(default_factory=lambda: {"entries": 2})
    asked: list[tuple[str, str, str, str]] = field(default_factory=list)
    fault: Exception | None = None

    async def plan(self, tenant: TenantId, name: str) -> Plan:
        if not name.strip():
            raise ArchiveError("name an end user")
        return Plan(Whom(subject_digest(tenant, name)), dict(self.found))

    async def erase(self, tenant: TenantId, name: str, by: str, note: str = "") -> dict[str, Any]:
        if self.fault is not None:
            raise self.fault
        self.asked.append((tenant, name, by, note))
        return {"id": "er_" + "0" * 24, "tenant": tenant, "removed": self.found}

    def receipt(self, id: str) -> dict[str, Any]:
        if id != "er_" + "0" * 24:
            raise ArchiveError("none")
        return {"id": id, "tenant": ACME}


@dataclass
class Scene:
    clock: Clock
    store: FakeEntryStore
    verdicts: FakeVerdicts
    queue: FakeReviewQueue
    evidence: FakeEvidence
    service: ReviewService
    bulk: Bulk
    costs: Costs
    costing: Costing
    tokens: Tokens = field(init=False)
    apps: list[tuple[ReviewService, Costing, FastAPI]] = field(default_factory=list)
    eraser: FakeEraser = field(default_factory=FakeEraser)

    def __post_init__(self) -> None:
        specs = [TokenSpec(who.name, SECRETS[who.role], who.role, (ACME,)) for who in ROLES.values()]
        self.tokens = Tokens(specs)

    async def put(self, *entries: Entry) -> None:
        for one in entries:
            assert await self.store.put(one)

    async def sighted(self, one: Entry, asked: str = ASKED, question: str = "What is it, then?") -> None:
        sighting = Sighting(
            one.id, asked, question, NOW - 5, "chat", "semantic", 1.0, ("near-threshold",), 0.91, 0.97
        )
        await self.queue.sight(one.tenant, [sighting])

    async def now(self, name: str, tenant: TenantId = ACME) -> Entry:
        found = await self.verdicts.show(tenant, EntryId(name))
        assert found is not None
        return found

    async def words(self, tenant: TenantId = ACME) -> Sequence[str]:
        return [line.act.what for line in (await self.verdicts.log(tenant)).lines]

    def app(self) -> FastAPI:
        """Give the application of these services: made once, since its making costs more than many requests."""
        for service, costing, app in self.apps:
            if service is self.service and costing is self.costing:
                return app
        self.apps.append((self.service, self.costing, review_app(self.service, self.costing, self.eraser)))
        return self.apps[-1][2]

    def client(self, role: Role | None = Role.OPERATOR, rules: GuardRules | None = None) -> httpx.AsyncClient:
        app = guarded(self.app(), self.tokens, Tries(self.clock.monotonic), rules)
        head = {"authorization": f"Bearer {SECRETS[role]}"} if role is not None else {}
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app),  # type: ignore[arg-type]
            base_url="http://127.0.0.1:8081",
            headers=head,
        )


def scene(folder: Path, rules: ReviewRules | None = None) -> Scene:
    clock = Clock()
    store = FakeEntryStore(clock)
    queue = FakeReviewQueue()
    verdicts = FakeVerdicts(store, leaves=queue.decided)
    evidence = FakeEvidence()
    shelf = Shelf(store, verdicts, queue, evidence)
    snapshot = policies(folder)
    service = ReviewService(shelf, Looking(shelf, lambda: snapshot, clock), clock, rules)
    costs = Costs(clock)
    costing = Costing(costs.shelves, lambda: snapshot, clock)
    return Scene(clock, store, verdicts, queue, evidence, service, Bulk(service), costs, costing)
