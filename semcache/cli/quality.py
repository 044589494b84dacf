"""The figures of `semcache report quality`, worked out from tallies, findings and alarms.

Knows no screen. Wrong per hit is that of hits by meaning, from audits and shadow answers, which are drawn
by chance; what callers report is not, and stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from semcache.core import EntryId, TenantId
from semcache.decide.risk.fixed import clopper_pearson
from semcache.evidence_port import Alarm, EvidenceStore, Label

_TWICE = 2


_DRAFTED = "drafted"


@dataclass(frozen=True, slots=True)
class Quality:
    """One domain of one tenant within the days looked back; `money` is in micro-USD."""

    tenant: str
    domain: str
    exact: int
    semantic: int
    shadow: int
    right: int
    wrong: int
    undecided: int
    failed: int
    dropped: int
    feedback_right: int
    feedback_wrong: int
    verdict_right: int
    verdict_wrong: int
    money: int
    alarms: int
    alarm: Alarm | None = None

    @property
    def labels(self) -> int:
        """Findings by chance that say something."""
        return self.right + self.wrong

    @property
    def checked(self) -> int:
        """Hits and would-be hits that were compared."""
        return self.labels + self.undecided

    @property
    def share(self) -> float | None:
        """Wrong per hit; None while nothing is known."""
        return self.wrong / self.labels if self.labels else None

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval of it."""
        return clopper_pearson(self.labels, self.wrong)


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a report shows: domains, newest findings, and entries found wrong more than once."""

    rows: Sequence[Quality]
    listed: Sequence[Label]
    flagged: Sequence[tuple[TenantId, EntryId, int]]


async def read_quality(
    evidence: EvidenceStore, tenant: TenantId, domain: str, since: float, listed: int
) -> Findings:
    """Read the figures.

    Args:
        evidence: where they are.
        tenant: only of this one; "" all.
        domain: only this one; "" all.
        since: Unix seconds; whole days count.
        listed: newest findings a tenant.

    Raises:
        StoreError: unreachable, late or damaged.
    """
    rows: list[Quality] = []
    labels: list[Label] = []
    flagged: list[tuple[TenantId, EntryId, int]] = []
    for name in (tenant,) if tenant else await evidence.tenants():
        names = [one for one in await evidence.domains(name) if not domain or one == domain]
        for one in names:
            words = await evidence.tallies(name, one, since)
            rows.append(quality_of(name, one, words, await evidence.alarm(name, one)))
        if listed and names:
            found = await evidence.recent(name, listed)
            labels += [label for label in found if label.domain in names and label.at >= since]
            flags = await evidence.flags(name)
            flagged += [(name, entry, count) for entry, count in sorted(flags.items()) if count >= _TWICE]
    return Findings(rows, labels, flagged)


def quality_of(tenant: str, domain: str, words: Mapping[str, int], alarm: Alarm | None) -> Quality:
    """Work the figures of a domain out from its tallies."""

    def drawn(finding: str) -> int:
        return words.get(f"audit-{finding}", 0) + words.get(f"shadow-{finding}", 0)

    return Quality(
        tenant=tenant,
        domain=domain,
        exact=words.get("exact", 0),
        # A revised answer's evidence stands under a name of its own, with no hits beside it.
        semantic=words.get("semantic", 0) + words.get(_DRAFTED, 0),
        shadow=words.get("shadow-exact", 0) + words.get("shadow-semantic", 0),
        right=drawn("right"),
        wrong=drawn("wrong"),
        undecided=drawn("undecided"),
        failed=words.get("audit-failed", 0),
        dropped=sum(count for word, count in words.items() if word.startswith("dropped-")),
        feedback_right=words.get("feedback-right", 0),
        feedback_wrong=words.get("feedback-wrong", 0),
        verdict_right=words.get("verdict-right", 0),
        verdict_wrong=words.get("verdict-wrong", 0),
        money=words.get("money", 0),
        alarms=words.get("alarms", 0),
        alarm=alarm,
    )
