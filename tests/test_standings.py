"""What the evidence allows, kept fresh beside the requests: who waits, who does not, and what happens without a store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from semcache.core import CachePolicy, RiskPolicy, TenantId, UntilProven
from semcache.decide.decision import Serving
from semcache.decide.risk.grid import BINS, EDGES, bin_of, bucket_of
from semcache.decide.risk.prior import Prior
from semcache.decide.risk.standing import Standing, State
from semcache.evidence_port import Cell, Source
from semcache.standings import FRESH, TRUSTED, Standings, Unbounded
from tests.decide.build import policy
from tests.fakes.evidence import FakeEvidence

ACME, DOMAIN = TenantId("acme"), "chat"
START = 20_000 * 86_400.0
SURE = bin_of(0.998)
PLENTY = 20_000.0


@dataclass
class Slow(FakeEvidence):
    """Counts how often it is read, and waits when it is told to."""

    reads: int = 0
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def counts(self, tenant: TenantId, domain: str) -> tuple[Cell, ...]:
        self.reads += 1
        await self.opened.wait()
        return await super().counts(tenant, domain)


class Clock:
    def __init__(self) -> None:
        self.at = START

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


class Scene:
    def __init__(self, prior: Prior | None = None) -> None:
        self.clock = Clock()
        self.evidence = Slow()
        self.evidence.opened.set()
        self.tasks: list[asyncio.Task[Any]] = []
        self.told: list[tuple[TenantId, str, State]] = []
        self.standings = Standings(self.evidence, prior, self.clock, self.spawn, self.hear)

    def spawn(self, work: Any) -> asyncio.Task[Any]:
        self.tasks.append(asyncio.get_running_loop().create_task(work))
        return self.tasks[-1]

    def hear(self, tenant: TenantId, domain: str, standing: Standing) -> None:
        self.told.append((tenant, domain, standing.state))

    def label(self, n: float, wrong: float, *, bin: int = SURE, source: Source = Source.AUDIT) -> None:
        cells = self.evidence.cells[ACME, DOMAIN]
        cells[source, bucket_of(self.clock.at), bin] = [n, wrong]

    async def later(self, seconds: float, rules: CachePolicy) -> Serving:
        """Let time pass, ask, let what goes on in the background end, and ask again."""
        self.clock.at += seconds
        await self.standings.serving(rules)
        await asyncio.gather(*self.tasks)
        return await self.standings.serving(rules)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    made = Scene()
    yield made
    for task in made.tasks:
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)


def rules(wish: UntilProven = UntilProven.DRAFT, **changes: Any) -> CachePolicy:
    return policy(risk=RiskPolicy(**({"until_proven": wish} | changes)))


# -- what it says ---------------------------------------------------------------------


@pytest.mark.parametrize("wish", UntilProven)
async def test_without_evidence_nothing_is_allowed_and_the_policy_says_what_happens(
    scene: Scene, wish: UntilProven
) -> None:
    assert await scene.standings.serving(rules(wish)) == Serving(None, proven=False, otherwise=wish)


async def test_enough_right_answers_prove_the_scores_they_had_and_above(scene: Scene) -> None:
    scene.label(PLENTY, 0)
    found = await scene.standings.serving(rules())
    assert found.proven
    assert found.cut == 0.9975
    assert found.allows(0.998)
    assert not found.allows(0.997)


async def test_a_verifier_that_never_says_more_than_0_97_is_opened_by_its_right_answers(scene: Scene) -> None:
    """Labels at 0.93 to 0.97 only, all right: proven from there up. With 2 % of them wrong: shut, however many."""
    said, few = (0.93, 0.945, 0.955, 0.965), 300
    for score in said:
        scene.label(few, 0, bin=bin_of(score))
    found = await scene.standings.serving(rules(budget=0.01))
    assert (found.proven, found.cut) == (True, EDGES[bin_of(0.93)])
    assert found.allows(0.93)
    assert not found.allows(0.91)
    for much in (few, 100 * few):
        other = Scene()
        for score in said:
            other.label(much, 0.02 * much, bin=bin_of(score))
        assert (await other.standings.serving(rules(budget=0.01))).cut is None
    assert (known := other.standings.known(rules(budget=0.01))) is not None
    assert known.state is State.CLOSED


async def test_enough_wrong_answers_close_it(scene: Scene) -> None:
    scene.label(PLENTY, PLENTY / 2)
    assert (await scene.standings.serving(rules())).cut is None
    standing = scene.standings.known(rules())
    assert standing is not None
    assert standing.state is State.CLOSED


async def test_what_only_complaints_say_proves_nothing(scene: Scene) -> None:
    scene.label(PLENTY, 0, source=Source.FEEDBACK)
    scene.label(PLENTY, 0, source=Source.VERDICT)
    scene.label(PLENTY, 0, source=Source.SEEN)
    assert (await scene.standings.serving(rules())).cut is None


PRIOR = Prior(tuple(5000.0 if i >= SURE else 0.0 for i in range(BINS)), (0.0,) * BINS)


@pytest.mark.parametrize(
    ("wish", "strength", "served"),
    [
        (UntilProven.SERVE, 5000.0, True),
        (UntilProven.SERVE, 0.0, False),
        (UntilProven.DRAFT, 5000.0, False),
        (UntilProven.SHADOW, 5000.0, False),
    ],
)
async def test_the_shipped_calibration_counts_only_where_the_policy_lets_it(
    wish: UntilProven, strength: float, served: bool
) -> None:
    scene = Scene(PRIOR)
    found = await scene.standings.serving(rules(wish, prior_hits=strength))
    assert (found.cut is not None) == served
    assert not found.proven
    if served:
        assert found.cut in EDGES


async def test_the_shipped_calibration_does_not_hold_against_what_is_seen_here() -> None:
    scene = Scene(PRIOR)
    scene.label(2000, 200)
    assert (await scene.standings.serving(rules(UntilProven.SERVE, prior_hits=5000.0))).cut is None


async def test_domains_tenants_and_promises_stand_each_for_itself(scene: Scene) -> None:
    scene.label(PLENTY, 0)
    assert (await scene.standings.serving(rules())).proven
    for other in (policy(domain="legal"), policy(tenant=TenantId("other"))):
        assert (await scene.standings.serving(other)).cut is None
    stricter = rules(budget=0.00001)
    assert (await scene.standings.serving(stricter)).cut is None


async def test_unbounded_allows_what_the_policy_accepts() -> None:
    assert await Unbounded().serving(policy(min_score=0.7)) == Serving(0.7, otherwise=UntilProven.SERVE)


# -- who waits ------------------------------------------------------------------------


async def test_the_first_request_waits_and_all_who_come_with_it_wait_for_the_same(scene: Scene) -> None:
    scene.label(PLENTY, 0)
    scene.evidence.opened.clear()
    first = [asyncio.ensure_future(scene.standings.serving(rules())) for _ in range(20)]
    await asyncio.sleep(0.01)
    assert not any(task.done() for task in first)
    scene.evidence.opened.set()
    assert all(found.proven for found in await asyncio.gather(*first))
    assert scene.evidence.reads == 1


async def test_a_client_that_goes_away_leaves_the_others_waiting_for_an_answer(scene: Scene) -> None:
    scene.label(PLENTY, 0)
    scene.evidence.opened.clear()
    gone, stays = (asyncio.ensure_future(scene.standings.serving(rules())) for _ in range(2))
    await asyncio.sleep(0.01)
    gone.cancel()
    await asyncio.sleep(0)
    scene.evidence.opened.set()
    assert (await stays).proven


async def test_while_it_is_fresh_nobody_reads_anything(scene: Scene) -> None:
    for _ in range(3):
        await scene.standings.serving(rules())
    scene.clock.at += FRESH
    await scene.standings.serving(rules())
    assert scene.evidence.reads == 1


async def test_later_it_is_worked_out_anew_beside_the_request_and_only_once(scene: Scene) -> None:
    await scene.standings.serving(rules())
    scene.label(PLENTY, 0)
    scene.clock.at += FRESH + 0.1
    scene.evidence.opened.clear()
    for _ in range(5):
        found = await asyncio.wait_for(scene.standings.serving(rules()), 0.5)
        assert found.cut is None
        await asyncio.sleep(0)
    assert scene.evidence.reads == 2
    scene.evidence.opened.set()
    await asyncio.gather(*scene.tasks)
    assert (await scene.standings.serving(rules())).proven
    assert scene.evidence.reads == 2


# -- without the store ----------------------------------------------------------------


async def test_what_was_never_known_is_not_allowed(scene: Scene) -> None:
    scene.evidence.away = True
    assert await scene.standings.serving(rules(UntilProven.SHADOW)) == Serving(
        None, otherwise=UntilProven.SHADOW, trusts_humans=False
    )
    scene.evidence.away = False
    scene.label(PLENTY, 0)
    assert (await scene.standings.serving(rules())).proven


async def test_what_was_known_holds_for_a_while_and_then_no_longer(scene: Scene) -> None:
    scene.label(PLENTY, 0)
    await scene.standings.serving(rules())
    scene.evidence.away = True
    assert (await scene.later(TRUSTED / 2, rules())).proven
    assert (await scene.later(TRUSTED / 2, rules())).proven
    assert await scene.later(0.1, rules()) == Serving(None, otherwise=UntilProven.DRAFT, trusts_humans=False)
    scene.evidence.away = False
    assert (await scene.later(0.1, rules())).proven


# -- who is told ----------------------------------------------------------------------


async def test_after_a_quiet_while_the_first_request_waits_as_the_very_first_did(scene: Scene) -> None:
    """Or a domain that is asked once in a few minutes would never be served by meaning."""
    scene.label(PLENTY, 0)
    for _ in range(3):
        assert (await scene.standings.serving(rules())).proven
        scene.clock.at += TRUSTED + 1.0
    scene.evidence.opened.clear()
    waiting = [asyncio.ensure_future(scene.standings.serving(rules())) for _ in range(5)]
    await asyncio.sleep(0.01)
    assert not any(one.done() for one in waiting)
    scene.evidence.opened.set()
    assert all(found.proven for found in await asyncio.gather(*waiting))
    assert scene.evidence.reads == 4


async def test_a_domain_that_gets_worse_sounds_one_alarm(scene: Scene) -> None:
    scene.label(PLENTY, 0)
    await scene.standings.serving(rules())
    assert scene.evidence.alarms == {}
    scene.clock.at += 86_400.0
    scene.label(PLENTY, PLENTY / 2)
    for _ in range(3):
        found = await scene.later(FRESH + 1, rules())
    assert not found.allows(0.998)
    alarm = scene.evidence.alarms[ACME, DOMAIN]
    assert alarm.reason in (State.ALARMED.value, State.CLOSED.value)
    assert await scene.evidence.tallies(ACME, DOMAIN, 0.0) == {"alarms": 1}


async def test_each_change_is_told_once(scene: Scene) -> None:
    await scene.standings.serving(rules())
    await scene.later(FRESH + 1, rules())
    assert scene.told == [(ACME, DOMAIN, State.THIN)]
    scene.label(PLENTY, 0)
    await scene.later(FRESH + 1, rules())
    await scene.later(FRESH + 1, rules())
    assert [state for _, _, state in scene.told] == [State.THIN, State.OPEN]


async def test_an_alarm_that_the_store_does_not_take_harms_nobody(scene: Scene) -> None:
    scene.label(PLENTY, 0)
    await scene.standings.serving(rules())
    scene.clock.at += 86_400.0
    scene.label(PLENTY, PLENTY / 2)
    read = scene.evidence.counts

    async def then_away(tenant: TenantId, domain: str) -> tuple[Cell, ...]:
        cells = await read(tenant, domain)
        scene.evidence.away = True
        return cells

    scene.evidence.counts = then_away  # type: ignore[method-assign]
    assert not (await scene.later(FRESH + 1, rules())).allows(0.998)
    assert scene.evidence.alarms == {}


# -- what is to be audited ------------------------------------------------------------


async def test_the_share_of_audits_falls_with_the_proof(scene: Scene) -> None:
    asked = rules(audit_thin=0.2, audit_proven=0.02)
    assert scene.standings.audit_share(asked) == 0.2
    await scene.standings.serving(asked)
    assert scene.standings.audit_share(asked) == 1.0
    scene.label(PLENTY * 100, 0)
    await scene.later(FRESH + 1, asked)
    assert scene.standings.audit_share(asked) == pytest.approx(0.02)


async def test_nothing_is_known_of_a_domain_that_was_never_asked_for(scene: Scene) -> None:
    assert scene.standings.known(rules()) is None


async def test_counters_of_a_half_weight_are_read_as_whole_labels(scene: Scene) -> None:
    scene.label(PLENTY + 0.4, 0.4)
    standing = (await scene.standings.serving(rules()), scene.standings.known(rules()))[1]
    assert standing is not None
    assert standing.wrong == 0


async def test_only_so_many_domains_are_remembered(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semcache.standings._MOST", 3)
    for number in range(5):
        await scene.standings.serving(policy(domain=f"d{number}"))
    known = [scene.standings.known(policy(domain=f"d{number}")) is not None for number in range(5)]
    assert known == [False, False, True, True, True]
