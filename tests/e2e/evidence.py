"""A world to gather evidence in: tenants and domains, an upstream that says what it is told to, and where to look.

A model's name assigns a domain of its own, so that no case sees another's evidence.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from semcache.cli.commands import app
from semcache.core import RiskPolicy, TenantId
from semcache.decide.risk.evidence import Cell, Evidence
from semcache.decide.risk.evidence import Source as Origin
from semcache.decide.risk.grid import bin_of, bucket_of
from semcache.decide.risk.standing import Standing, stand
from semcache.decide.verify.verifier import open_prior
from semcache.evidence_port import Finding, Label, Source
from semcache.standings import rules_of
from semcache.store.embedded import embedded_url
from semcache.store.evidence_hits import EvidenceShelves
from semcache.store.link import LinkRules
from tests.e2e.running import Proxy, Reply
from tests.e2e.tenants import bearer, policy
from tests.fakes.upstream_server import (
    Behaviour,
    Exchange,
    Seen,
    UpstreamServer,
    chat_json,
    error_reply,
)

HOUSE, OTHER, THRIFT = "sk-house", "sk-other", "sk-thrift"
MANAGED = "Bearer sk-managed"

BRIDGE = "When was the stone bridge built?"
ALIKE = (
    "Could you tell me when the stone bridge was built?",
    "Can you tell me when the stone bridge was built?",
    "Please tell me when the stone bridge was built.",
    "Tell me when the stone bridge was built.",
    "When did they build the stone bridge?",
    "When was the stone bridge constructed?",
    "I would like to know when the stone bridge was built.",
    "Do you know when the stone bridge was built?",
)
"""Other words for it, of which the verifier is surer than the shipped calibration asks for."""
LESS_SURE = "In what year was the stone bridge built?"
"""The same wish, and a score below what the shipped calibration lets through."""
PASSWORD, FURTHER = "How do I reset my password?", "How can a password be reset?"
"""A pair that the verifier is sure of, though it lies below the threshold."""

THEN, LATER = "The stone bridge was built in 1887.", "The stone bridge was built in 1912."
THE_SAME = "It was built in 1887."

SOON_CLOSED = RiskPolicy(budget=0.5, confidence=0.5)
HOUSE_DOMAINS = {
    "agreed": "{}",
    "doubtful": "{}",
    "fragile": f"{{risk: {{budget: {SOON_CLOSED.budget}, confidence: {SOON_CLOSED.confidence}}}}}",
    "shared": f"{{risk: {{budget: {SOON_CLOSED.budget}, confidence: {SOON_CLOSED.confidence}}}}}",
    "shadow": "{risk: {until_proven: shadow}}",
    "draft": "{risk: {until_proven: draft}}",
    "proving": "{threshold: 0.92, draft_threshold: 0.7}",
    "heard": "{audit: {enabled: false}}",
    "frozen": "{audit: {enabled: false}}",
    "seldom": "{audit: {enabled: false}}",
    "failing": "{}",
    "gpt-4o-mini": "{}",
    "gpt-4o": "{audit: {max_usd_per_day: 0.000001}}",
}
AUDITS = "  audit: {share_thin: 1.0, share_proven: 1.0, max_usd_per_day: 100.0, max_calls_per_day: 10000}\n"
"""Every hit is checked, so that nothing here happens by chance."""
ONE_CALL = AUDITS.replace("10000", "1")


def by_model(domains: dict[str, str]) -> dict[str, str]:
    """Give the parts of a policy file: the domains, each with a model of its name."""
    return {
        "domains": "".join(f"  {name}: {knobs}\n" for name, knobs in domains.items()),
        "rules": "".join(f'    - {{models: ["{name}"], domain: {name}}}\n' for name in domains),
    }


def write_policies(folder: Path) -> Path:
    folder.mkdir()
    plain = "classifier: {enabled: false}\n"
    files = {
        "house": policy("house", HOUSE, defaults=AUDITS, more=plain, **by_model(HOUSE_DOMAINS)),
        "other": policy("other", OTHER, defaults=AUDITS, more=plain),
        "thrift": policy("thrift", THRIFT, defaults=ONE_CALL, more=plain),
        "guest": policy(
            "guest", defaults=AUDITS, more=plain, **by_model({"billed": "{audit: {passthrough: true}}"})
        ).replace("unknown_keys: reject", "unknown_keys: passthrough"),
    }
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


@dataclass
class World:
    """What the upstream says: to a question, and to one that is asked at a temperature (which only auditors do)."""

    says: dict[str, str] = field(default_factory=dict)
    to_witness: dict[str, str] = field(default_factory=dict)
    otherwise: str = THEN
    held: dict[str, threading.Event] = field(default_factory=dict)
    """Questions that are not answered before the event."""
    fails: set[str] = field(default_factory=set)

    def __call__(self, seen: Seen) -> Behaviour:
        body = seen.json()
        question = str(body["messages"][-1]["content"])
        if question in self.fails:
            return error_reply(500, f"no answer to {question}")
        text = self.says.get(question, self.otherwise)
        if "temperature" in body:
            text = self.to_witness.get(question, text)
        return held_until(self.held[question], text) if question in self.held else chat_json(text)


def held_until(event: threading.Event, text: str) -> Behaviour:
    async def behave(exchange: Exchange) -> None:
        await asyncio.to_thread(event.wait, 30.0)
        await chat_json(text)(exchange)

    return behave


# -- asking and looking ---------------------------------------------------------------------


def ask(
    proxy: Proxy, domain: str, question: str, key: str = HOUSE, headers: dict[str, str] | None = None
) -> Reply:
    reply = proxy.chat(question, {**bearer(key), **(headers or {})}, model=domain)
    assert reply.status == 200, reply.body
    return reply


def outcome(reply: Reply) -> str:
    return reply.headers["semcache-outcome"]


def explained(proxy: Proxy, domain: str, question: str) -> dict[str, Any]:
    """Say what would become of a question; nothing is served, asked, stored or counted by it."""
    body = json.dumps({"model": domain, "messages": [{"role": "user", "content": question}]}).encode()
    head = {"content-type": "application/json", "semcache-namespace": proxy.namespace, **bearer(HOUSE)}
    reply = proxy.request("POST", "/semcache/explain", body, head)
    assert reply.status == 200, reply.body
    found: dict[str, Any] = reply.json()
    return found


def asked_for(upstream: UpstreamServer, domain: str) -> list[Seen]:
    """Give the calls of the upstream for a domain; another test's last audit may still come in."""
    return [seen for seen in upstream.requests if seen.json()["model"] == domain]


def calls(upstream: UpstreamServer, domain: str) -> int:
    return len(asked_for(upstream, domain))


def metric(proxy: Proxy, name: str, **labels: str) -> float:
    """Sum a metric over the series that bear these labels."""
    page = proxy.request("GET", "/metrics").body.decode()
    total = 0.0
    for line in page.splitlines():
        found = re.fullmatch(rf"{name}\{{(.*)\}} (\S+)", line)
        if found and labels.items() <= dict(re.findall(r'(\w+)="([^"]*)"', found[1])).items():
            total += float(found[2])
    return total


def audits(proxy: Proxy, domain: str, verdict: str) -> float:
    return metric(proxy, "semcache_audits_total", domain=domain, verdict=verdict)


def report(proxy: Proxy, domain: str, tenant: str = "house") -> dict[str, Any]:
    """Run `semcache report quality` beside the proxy; gives the domain's row, its findings and flags."""
    named = ["--tenant", tenant, "--domain", domain, "--listed", "50", "--data", str(proxy.data)]
    ended = CliRunner().invoke(app, ["report", "quality", "--json", *named])
    assert ended.exit_code == 0, ended.exception
    told = json.loads(ended.stdout)
    row: dict[str, Any] = told["domains"][0] if told["domains"] else {}
    return {**row, "findings": told["findings"], "flagged": told["flagged"]}


def report_when(proxy: Proxy, check: Callable[[dict[str, Any]], bool], domain: str) -> dict[str, Any]:
    """Give the report once it says what it must: tallies are written down every few seconds."""
    told: list[dict[str, Any]] = []

    def holds() -> bool:
        told.append(report(proxy, domain))
        return check(told[-1])

    try:
        proxy.wait_until(holds)
    except AssertionError:
        raise AssertionError(told[-1]) from None
    return told[-1]


def least(risk: RiskPolicy, score: float, wrong: bool, holds: Callable[[Standing], bool]) -> int:
    """Give how many labels at a score, all right or all wrong, bring about a standing, by the rules themselves."""
    now, rules, prior = time.time(), rules_of(risk), open_prior()
    for n in range(2000):
        cell = Cell(bin_of(score), bucket_of(now), Origin.AUDIT, n, n if wrong else 0)
        if holds(stand(Evidence.of([cell]), rules, prior, now)):
            return n
    raise AssertionError("no number of labels is enough")


async def seed(data: Path, domain: str, score: float, count: int) -> None:
    """Write labels as a worker would: so many hits of this score were audited and right."""
    shelves = EvidenceShelves(embedded_url(data), LinkRules(deadline=10.0))
    now = time.time()
    try:
        for n in range(count):
            label = Label(
                id=f"audit:seed-{n}",
                tenant=TenantId("house"),
                domain=domain,
                source=Source.AUDIT,
                finding=Finding.RIGHT,
                bin=bin_of(score),
                bucket=bucket_of(now),
                at=now,
                score=score,
            )
            assert await shelves.labels.add(label)
    finally:
        await shelves.aclose()


def say(proxy: Proxy, key: str, body: bytes | dict[str, Any]) -> Reply:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return proxy.request(
        "POST", "/semcache/feedback", raw, {"content-type": "application/json", **bearer(key)}
    )
