"""A review service over fakes (or the real store), with seeded entries, and the pages on an application."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI

from semcache.core import CachePolicy, Completion, Entry, EntryId, TenantId, Usage
from semcache.decide.risk.standing import Standing, State
from semcache.embed.fingerprint import key_in
from semcache.evidence_port import EvidenceStore
from semcache.review.access import Role, Tokens, TokenSpec
from semcache.review.costing import Costing, CostShelves
from semcache.review.looking import Looking, Shelf
from semcache.review.searching import Shelves
from semcache.review.service import ReviewService
from semcache.review.web.routes import mount_pages
from semcache.review_port import Decided, Opinion, ReviewQueue, Sighting, Verdicts
from tests.fakes.entry_store import FakeEntryStore
from tests.fakes.evidence import FakeEvidence
from tests.fakes.review_queue import FakeReviewQueue
from tests.fakes.verdicts import FakeVerdicts
from tests.policy.samples import snapshot
from tests.review.costs import Costs, seed_costs

HOSPITAL, SHOP = TenantId("hospital"), TenantId("shop")
LIN, OTTO, SEE = "lin-" + "l" * 30, "otto-" + "o" * 30, "see-" + "s" * 30
ROOT = "root-" + "r" * 30
NAMESPACE = "ab" * 32
POLICY = """
schema_version: 1
tenant: {tenant}
access: {{anonymous: never, unknown_keys: reject, keys: [{{name: k, hash: "sha256:{hash}"}}]}}
default_domain: general
defaults: {{mode: semantic}}
domains:
  general: {{threshold: 0.9, verified_threshold: 0.87, draft_threshold: 0.75}}
  dosage: {{threshold: 0.95, verified_threshold: 0.93}}
  support: {{threshold: 0.88}}
costs:
  budgets:
    - {{name: hospital, window: month, soft_usd: 150, hard_usd: 200}}
    - {{name: ward-assistants, window: day, labels: {{project: ward-assistant, environment: prod}}, hard_usd: 2.50}}
    - {{name: trials, window: week, models: [claude-*], keys: [k], requests: 5000, on_hard: refuse}}
"""


def policy(tenant: str) -> str:
    return POLICY.format(tenant=tenant, hash=hashlib.sha256(tenant.encode()).hexdigest())


class Clock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


def digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def completion(text: str, **message: Any) -> Completion:
    body = {
        "object": "chat.completion",
        "model": "gpt-5-mini",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
    }
    return Completion(json.dumps(body).encode(), Usage(48, max(1, len(text) // 4)))


@dataclass
class World:
    """Everything that the pages stand on."""

    entries: Any
    verdicts: Verdicts
    queue: ReviewQueue
    evidence: EvidenceStore
    costs: CostShelves

    @property
    def shelf(self) -> Shelf:
        shelves: Shelves = self.entries
        return Shelf(shelves, self.verdicts, self.queue, self.evidence)

    def service(self) -> ReviewService:
        """Give all of review; one domain is open, one is closed."""
        policies = snapshot(policy("hospital"), policy("shop"))
        looking = Looking(self.shelf, lambda: policies, Clock(), standing=standing_of)
        return ReviewService(self.shelf, looking, Clock())

    def costing(self) -> Costing:
        policies = snapshot(policy("hospital"), policy("shop"))
        return Costing(self.costs, lambda: policies, Clock())

    def app(self, **options: Any) -> FastAPI:
        app = FastAPI(openapi_url=None)
        mount_pages(app, self.service(), self.costing(), tokens(), **options)
        return app

    async def put(self, name: str, prompt: str, answer: str | Completion, **changes: Any) -> Entry:
        now = time.time()
        fields: dict[str, Any] = {
            "id": EntryId(name),
            "tenant": HOSPITAL,
            "namespace": NAMESPACE,
            "key": key_in(NAMESPACE, f"{name} {prompt.encode('utf-8', 'replace').decode()}"),
            "domain": "general",
            "model": "gpt-5-mini",
            "prompt": prompt,
            "completion": completion(answer) if isinstance(answer, str) else answer,
            "created_at": now - 7200,
            "expires_at": now + 6 * 86_400,
            "seconds": 3.4,
            "author": "aa" * 12,
        }
        entry = Entry(**{**fields, **changes})
        await self.entries.put(entry)
        return entry

    async def sight(self, entry: Entry, text: str, risk: float = 1.0, *reasons: str, **changes: Any) -> str:
        asked = digest(text)
        fields: dict[str, Any] = {
            "entry": entry.id,
            "asked": asked,
            "question": text,
            "at": time.time() - 240,
            "domain": entry.domain,
            "outcome": "semantic",
            "risk": risk,
            "reasons": reasons,
            "similarity": 0.931,
            "score": 0.74,
        }
        times = changes.pop("times", 1)
        sighting = Sighting(**{**fields, **changes})
        await self.queue.sight(entry.tenant, [sighting] * times)
        return asked


async def standing_of(policy: CachePolicy) -> Standing | None:
    states = {"general": (State.OPEN, 0.9, 0.012), "dosage": (State.CLOSED, None, 0.08)}
    known = states.get(policy.domain)
    return None if known is None else Standing(*known, estimate=0.01, audits=240.0, wrong=2.0, needed=150.0)


def tokens() -> Tokens:
    return Tokens(
        [
            TokenSpec("lin", LIN, Role.REVIEWER, ("hospital",)),
            TokenSpec("otto", OTTO, Role.REVIEWER, ("hospital", "shop")),
            TokenSpec("see", SEE, Role.VIEWER, ("hospital",)),
            TokenSpec("root", ROOT, Role.OPERATOR, ("*",)),
        ]
    )


def fakes() -> World:
    entries = FakeEntryStore(Clock())
    queue = FakeReviewQueue(kept_decisions=5000)

    def leaves(tenant: TenantId, id: EntryId) -> None:
        known = queue.known[tenant].get(id)
        if known is not None:
            known.weight = None

    costs = Costs(Clock()).shelves
    return World(entries, FakeVerdicts(entries, leaves=leaves), queue, FakeEvidence(), costs)


PARACETAMOL = (
    "For adults and adolescents over 50 kg, the usual dose of paracetamol is 500 to 1000 mg every 4 to 6 hours as "
    "needed. Do not take more than 4000 mg within 24 hours.\n\nPeople who weigh less than 50 kg, have liver disease, "
    "or drink alcohol regularly should take less; ask a doctor or pharmacist first."
)


async def seed(world: World, extra: int = 0) -> dict[str, Entry]:
    """Fill two tenants with what a day brings."""
    put, sight = world.put, world.sight
    dose = await put(
        "e-dose",
        "What is the maximum daily dose of paracetamol for adults?",
        PARACETAMOL,
        domain="dosage",
        tags=("leaflet-2026",),
    )
    await sight(
        dose,
        "What is the maximum daily dose of paracetamol for children over 12?",
        3.0,
        "gate",
        "near-threshold",
        similarity=0.957,
        score=0.58,
        times=4,
    )
    await sight(
        dose,
        "How much paracetamol can an adult take per day?",
        0.6,
        "near-score",
        similarity=0.968,
        score=0.81,
        times=9,
        at=time.time() - 4000,
    )
    await sight(
        dose,
        "max paracetamol per day, adult",
        0.0,
        similarity=0.972,
        score=0.93,
        times=21,
        at=time.time() - 9000,
    )
    await world.queue.opine(
        HOSPITAL,
        Opinion(
            dose.id,
            digest("What is the maximum daily dose of paracetamol for children over 12?"),
            "gpt-5-mini",
            0.18,
            time.time() - 200,
        ),
    )
    fast = await put(
        "e-fast",
        "Can I drink water before a fasting blood test?",
        "Yes. Plain water is fine, and even helps. Do not eat anything and drink no coffee, tea or juice for 8 to 12 hours before the test.",
        domain="general",
    )
    await sight(
        fast,
        "May I have coffee before a fasting blood test?",
        2.4,
        "complaint",
        similarity=0.912,
        score=0.66,
        times=3,
        at=time.time() - 900,
    )
    zh = await put(
        "e-zh",
        "青霉素过敏的患者可以使用头孢吗?",
        "多数对青霉素过敏的患者可以在医生评估后使用头孢菌素,但有严重过敏史(如过敏性休克)者应避免,并需先做皮试。",
        domain="dosage",
    )
    await sight(
        zh,
        "青霉素过敏的儿童可以使用头孢吗?",
        1.6,
        "gate",
        "personal",
        similarity=0.961,
        score=0.7,
        times=3,
        at=time.time() - 1900,
    )
    leave = await put(
        "e-visit",
        "When are the visiting hours on ward 4?",
        "Visiting hours on ward 4 are from 14:00 to 19:00 every day, at most two visitors at a time.",
        domain="support",
    )
    await sight(
        leave,
        "What are today's visiting hours on ward 4?",
        1.1,
        "volatile",
        "other-user",
        similarity=0.894,
        score=0.77,
        times=5,
        at=time.time() - 3000,
    )
    wide = await put(
        "e-bill",
        "How do I read the codes on my hospital bill?",
        "Each line of the bill names a service by a code of five digits. " * 12,
        domain="support",
    )
    await sight(
        wide,
        "Can you explain the billing codes on the invoice that I received after my stay?",
        0.5,
        "sample",
        similarity=0.889,
        score=0.9,
        times=2,
        at=time.time() - 50_000,
    )
    for i in range(extra):
        more = await put(
            f"e-x{i}",
            f"Question number {i}: how long does the recovery after procedure {i} take, and what should I avoid?",
            f"Recovery after procedure {i} usually takes {i % 6 + 1} weeks. Avoid heavy lifting.",
        )
        await sight(
            more,
            f"How long is the recovery after procedure {i}?",
            0.4 / (i + 1) + 0.01,
            "sample",
            at=time.time() - 600 * i,
        )
    shop = await put(
        "s-return",
        "How long can I return an item?",
        "You can return any item within 30 days.",
        tenant=SHOP,
        domain="support",
    )
    await sight(shop, "Within how many days can I send an item back?", 1.0, "near-threshold")
    rules = snapshot(policy("hospital")).by_tenant[HOSPITAL].costs.budgets
    await seed_costs(world.costs, HOSPITAL, rules, time.time())
    await world.queue.keep(HOSPITAL, "general", decided(600))
    await world.queue.keep(HOSPITAL, "dosage", decided(120))
    return {entry.id: entry for entry in (dose, fast, zh, leave, wide, shop)}


def decided(count: int) -> list[Decided]:
    out = []
    for i in range(count):
        similarity = 0.7 + 0.3 * ((i * 37) % 101) / 101
        wrong = (i * 7) % 13 < 13 * (1 - similarity) if i % 3 == 0 else None
        outcome = "semantic" if similarity >= 0.9 else "miss"
        out.append(
            Decided(
                time.time() - i * 60, similarity, 0.4 + 0.6 * ((i * 29) % 97) / 97, outcome, f"r{i}", wrong
            )
        )
    return out
