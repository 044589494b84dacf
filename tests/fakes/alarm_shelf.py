"""A shelf of alarms in memory, under the same contract suite as the real one (tests/contracts/test_alarm_shelf.py)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from semcache.core import TenantId
from semcache.cost_port import AlarmKind, CostAlarm
from semcache.errors import StoreError
from semcache.ports import Clock


@dataclass
class FakeAlarmShelf:
    """`away`: nothing is reached; `broken`: the methods of these names fail."""

    clock: Clock
    held: tuple[str, float] = ("", 0.0)
    known: dict[str, str] = field(default_factory=dict)
    standing: dict[str, dict[tuple[AlarmKind, str], CostAlarm]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    listed: dict[str, list[CostAlarm]] = field(default_factory=lambda: defaultdict(list))
    away: bool = False
    broken: set[str] = field(default_factory=set)

    def _reached(self, name: str) -> None:
        if self.away or name in self.broken:
            raise StoreError("alarms: away", kind="down")

    async def lead(self, worker: str, seconds: float) -> bool:
        self._reached("lead")
        owner, until = self.held
        if owner not in ("", worker) and self.clock.monotonic() < until:
            return False
        self.held = (worker, self.clock.monotonic() + seconds) if seconds else ("", 0.0)
        return True

    async def load(self) -> Mapping[str, str]:
        self._reached("load")
        return dict(self.known)

    async def save(self, known: Mapping[str, str]) -> None:
        self._reached("save")
        for tenant, text in known.items():
            if len(text.encode("utf-8", "surrogatepass")) <= 1 << 18 and (
                tenant in self.known or len(self.known) < 2000
            ):
                self.known[tenant] = text

    async def put(self, alarms: Sequence[CostAlarm]) -> None:
        self._reached("put")
        for alarm in alarms:
            standing, place = self.standing[alarm.tenant], (alarm.kind, alarm.subject)
            was = place in standing
            if not alarm.is_raised:
                standing.pop(place, None)
            elif was or len(standing) < 100:
                standing[place] = alarm
            if was != alarm.is_raised:
                self.listed[alarm.tenant] = [alarm, *self.listed[alarm.tenant]][:200]

    async def alarms(self, tenant: TenantId) -> tuple[CostAlarm, ...]:
        self._reached("alarms")
        standing = sorted(self.standing[tenant].values(), key=_newest)
        rest = sorted((one for one in self.listed[tenant] if one not in standing), key=_newest)
        return (*standing, *rest)

    async def raised(self) -> tuple[CostAlarm, ...]:
        self._reached("raised")
        found = [one for standing in self.standing.values() for one in standing.values()]
        return tuple(sorted(found, key=_newest))


def _newest(alarm: CostAlarm) -> tuple[float, str, str, str]:
    return -alarm.at, alarm.tenant, alarm.kind, alarm.subject
