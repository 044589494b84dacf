"""What a replay comes to: counts by domain, expected wrong hits, and what is to be said of the sample.

Answers that were drawn are compared here, and forgotten. Knows no pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from semcache.advise.counted import Tallies, Tally, judged
from semcache.advise.findings import DomainReplay, Interval, Semantic
from semcache.advise.sample import Sample, Units
from semcache.advise.wrong import Method, WrongHits, expected_wrong
from semcache.asking.likeness import Similar
from semcache.decide.risk.prior import Prior


@dataclass(slots=True)
class Course:
    """How a replay went: `of` rows in the log, of which `asked` were asked and `counted` counted.

    `answers` of the counted ones came with an answer; `refused` are no requests that a proxy takes, `faults` were lost to a busy
    machine. `is_cut`: the time was up before the sample was through. `is_timed`: any row had a time.
    """

    sample: Sample
    of: int
    units: Units
    tallies: Tallies
    asked: int = 0
    counted: int = 0
    answers: int = 0
    refused: int = 0
    faults: int = 0
    is_cut: bool = False
    is_timed: bool = False
    decide_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Took:
    """What it took: texts embedded, processor seconds each."""

    embedded: int
    per_text: float


async def concluded(course: Course, took: Took, similar: Similar | None, prior: Prior | None) -> Semantic:
    """Compare the answers that were drawn, and give what was found.

    Args:
        course: how it went.
        took: what it took.
        similar: how alike two answers are, or None: without.
        prior: the shipped calibration, or None.
    """
    found = [
        await _domain(name, tally, similar, prior) for name, tally in sorted(course.tallies.domains.items())
    ]
    domains = tuple(domain for domain, _ in found)
    likely, interval, method = _summed([each for _, each in found])
    sampled = course.sample.kind != "all" or course.is_cut
    share = course.counted / max(1, course.of)
    return Semantic(
        requests=course.counted,
        sampled=sampled,
        domains=domains,
        exact=sum(domain.exact for domain in domains),
        semantic=sum(domain.semantic for domain in domains),
        drafts=sum(domain.drafts for domain in domains),
        wrong=likely,
        wrong_interval=interval,
        saved_cost=sum(domain.saved_cost for domain in domains),
        saved_seconds=sum(domain.saved_seconds for domain in domains),
        unpriced=sum(domain.unpriced for domain in domains),
        notes=_notes(course),
        of=course.of,
        sample=course.sample.told(share, is_cut=course.is_cut),
        hit_interval=_in_all(course, share) if sampled else None,
        would_be=sum(domain.would_be for domain in domains),
        answers=course.answers,
        embedded=took.embedded,
        embed_seconds=took.per_text,
        decide_seconds=course.decide_seconds / course.asked if course.asked else 0.0,
        wrong_method=method,
        examples=tuple(text for tally in course.tallies.domains.values() for text in tally.examples),
    )


def _in_all(course: Course, share: float) -> Interval:
    """Give the interval of the share of hits in the whole log; up to 1 where the sample is the front of the log.

    A cache that was empty a moment ago serves less than one that has run for long, so that a front only says what is
    served at least.
    """
    low, high = course.units.interval(share)
    kind = course.sample.kind
    is_front = kind == "beginning" or (course.is_cut and kind != "windows")
    return (low, 1.0) if is_front else (low, high)


def _notes(course: Course) -> tuple[str, ...]:
    notes = []
    if course.is_cut:
        notes.append("The time was up before the sample was through.")
    if course.refused:
        notes.append(f"{course.refused:,} requests are none that the proxy would take, and were left out.")
    if course.faults:
        notes.append(
            f"In {course.faults} requests a part of the cache failed (a busy machine); they were left out."
        )
    if course.counted and not course.is_timed:
        notes.append("No request has a time: no answer ever grew old.")
    return tuple(notes)


async def _domain(
    name: str, tally: Tally, similar: Similar | None, prior: Prior | None
) -> tuple[DomainReplay, WrongHits]:
    compared = await judged(tally.by_meaning.kept, similar)
    repeated = await judged(tally.by_repeat.kept, None)
    wrong = expected_wrong(tally.semantic, tally.scores, compared, prior)
    known = wrong.method is not Method.UNKNOWN and tally.semantic > 0
    exact, meant = tally.spared_exact, tally.spared_meaning
    return DomainReplay(
        domain=name,
        requests=tally.requests,
        exact=tally.exact,
        semantic=tally.semantic,
        drafts=tally.drafts,
        wrong=(wrong.likely or 0.0) * tally.semantic if known else None,
        wrong_interval=(wrong.low * tally.semantic, wrong.high * tally.semantic) if known else None,
        saved_cost=exact.cost + meant.cost,
        saved_seconds=exact.seconds + meant.seconds,
        wrong_method=wrong.method.value,
        would_be=tally.would_be,
        held_back=tally.policy.risk.until_proven.value,
        reasons=tuple(tally.reasons.most_common()),
        compared=(compared.right, compared.wrong, compared.undecided),
        repeated=(repeated.right, repeated.wrong, repeated.undecided),
        saved_by_exact=exact.cost,
        saved_input=exact.input + meant.input,
        saved_output=exact.output + meant.output,
        unpriced=exact.unpriced + meant.unpriced,
        asked_seconds=tally.asked_seconds,
        timed=tally.timed,
        personal=tally.personal,
        volatile=tally.volatile,
        looked=tally.looked,
        budget=tally.policy.risk.budget,
        ttl=tally.policy.ttl,
    ), wrong


def _summed(found: Sequence[WrongHits]) -> tuple[float | None, Interval | None, str]:
    """Add up domains: ends by ends, which is too wide rather than too narrow; None where any says nothing."""
    told = [each for each in found if each.hits]
    if not told or any(each.method is Method.UNKNOWN for each in told):
        return None, None, Method.UNKNOWN.value
    methods = {each.method for each in told}
    method = methods.pop().value if len(methods) == 1 else "mixed"
    likely = sum((each.likely or 0.0) * each.hits for each in told)
    low, high = sum(each.low * each.hits for each in told), sum(each.at_most for each in told)
    return likely, (low, high), method
