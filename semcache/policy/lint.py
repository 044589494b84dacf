"""Warns of policies that are allowed but probably not meant.

Pure. Nothing here refuses a file; see `checks` for what does.
"""

from __future__ import annotations

from collections.abc import Iterator

from semcache.core import Mode
from semcache.policy.checks import PolicySource
from semcache.policy.effective import effective
from semcache.policy.match import covers
from semcache.policy.problems import Path, Problem
from semcache.policy.schema import Rule

LOW_THRESHOLD = 0.85
"""Reference scale; below it, different questions about one thing match all the time."""
WIDE_VERIFIED = 0.05
"""How far verified_threshold may lie below threshold before it looks like a slip."""


def lint(source: PolicySource) -> list[Problem]:
    """Give the warnings of one file."""
    found = [*_thresholds(source), *_rules(source), *_access(source), *_unused(source), *_budgets(source)]
    found += _confirmation(source)
    return sorted(found, key=lambda problem: problem.line)


def _warn(source: PolicySource, path: Path, message: str) -> Problem:
    problem = source.problem(path, message)
    return Problem(problem.file, problem.line, problem.path, message, "warning")


def _thresholds(source: PolicySource) -> Iterator[Problem]:
    for domain in source.policy.domains:
        knobs = effective(source.policy, domain)
        if knobs.threshold is None or knobs.mode not in (Mode.SEMANTIC, Mode.SHADOW):
            continue
        if knobs.threshold < LOW_THRESHOLD:
            yield _warn(
                source,
                ("domains", domain, "threshold"),
                f"{knobs.threshold:g} is below {LOW_THRESHOLD:g}: different questions will share answers",
            )
        if (
            knobs.verified_threshold is not None
            and knobs.verified_threshold < knobs.threshold - WIDE_VERIFIED
        ):
            yield _warn(
                source,
                ("domains", domain, "verified_threshold"),
                f"lies more than {WIDE_VERIFIED:g} below threshold: a human vouched for the answer, not for the match",
            )
        if knobs.threshold == 1.0 and knobs.mode is Mode.SEMANTIC:
            yield _warn(
                source, ("domains", domain, "threshold"), "only equal texts reach 1: mode exact is cheaper"
            )


def _rules(source: PolicySource) -> Iterator[Problem]:
    rules = source.policy.assign.rules
    for later, rule in enumerate(rules):
        for earlier in range(later):
            if _always_before(rules[earlier], rule):
                yield _warn(
                    source,
                    ("assign", "rules", later),
                    f"is never reached: rule {earlier} matches everything that this one does",
                )
                break


def _always_before(first: Rule, second: Rule) -> bool:
    """Tell whether `first` holds whenever `second` does (never true without being so)."""
    return (
        _includes(first.routes, second.routes)
        and _includes(first.models, second.models)
        and (first.system_prompt is None or first.system_prompt == second.system_prompt)
    )


def _includes(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Tell whether every value that the second list covers is covered by the first."""
    if not first:
        return True
    return bool(second) and all(any(covers(wide, narrow) for wide in first) for narrow in second)


def _access(source: PolicySource) -> Iterator[Problem]:
    access = source.policy.access
    if access.keys and access.unknown_keys == "passthrough":
        yield _warn(
            source,
            ("access", "unknown_keys"),
            "callers with any other key are served too; where the upstream does not check keys, that is everyone",
        )
    nobody = not access.keys and access.anonymous == "never" and access.unknown_keys == "reject"
    if nobody and not source.policy.prefix.public:
        yield _warn(source, ("access",), "nobody can speak for this tenant: no keys, no anonymous callers")


def _unused(source: PolicySource) -> Iterator[Problem]:
    policy = source.policy
    used = {policy.default_domain, *(rule.domain for rule in policy.assign.rules)}
    if policy.assign.header or policy.classifier.enabled:
        return
    for domain in policy.domains:
        if domain not in used:
            yield _warn(source, ("domains", domain), "nothing leads to this domain")


def _budgets(source: PolicySource) -> Iterator[Problem]:
    """Warn of budgets that a client leaves by not saying what it is working for."""
    keys = source.policy.access.keys
    for index, budget in enumerate(source.policy.costs.budgets):
        mine = [key.labels.pairs() for key in keys if not budget.keys or key.name in budget.keys]
        for label in budget.labels.pairs():
            if not any(label in fixed for fixed in mine):
                yield _warn(
                    source,
                    ("costs", "budgets", index, "labels", label[0]),
                    "no key has this label: clients choose whether they state it, and so whether the budget holds",
                )


def _confirmation(source: PolicySource) -> Iterator[Problem]:
    """Warn where what is asked of new answers can never be met, or says nothing."""
    for domain in source.policy.domains:
        knobs = effective(source.policy, domain)
        if knobs.confirmation.by == "none" or knobs.mode is Mode.OFF:
            continue
        own: Path = ("domains", domain, "confirmation")
        place = own if own in source.lines else ("defaults", "confirmation")
        if knobs.scope == "user":
            if place == own:
                yield _warn(source, place, "says nothing in scope user: no answer goes to another user")
        elif knobs.confirmation.by == "users" and not source.policy.access.keys:
            yield _warn(
                source,
                place,
                "no user will ever count: names count from callers with a key of access.keys, and there is none",
            )
        elif knobs.confirmation.by == "human" and not knobs.review.enabled:
            yield _warn(source, place, "nothing comes before a human here: review is switched off")
        elif _others_come_in(source):
            yield _warn(
                source,
                place,
                "callers without a key of this file's get their own answers and confirm none, whatever user they name",
            )


def _others_come_in(source: PolicySource) -> bool:
    return source.policy.access.anonymous == "loopback"
