"""Checks what the shape of a single knob cannot say: names that must exist, limits that must agree.

Pure. Errors refuse the files; warnings (`lint`) are shown by `semcache policy check` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from semcache.core import Mode
from semcache.policy.effective import effective, points
from semcache.policy.exemplars import BUILT_IN
from semcache.policy.prefix import NOTHING_PUBLIC, OPERATOR, PublicMessages
from semcache.policy.problems import Path, Problem, line_of, path_text
from semcache.policy.schema import OTHER, DomainKnobs, PolicyFile


@dataclass(frozen=True, slots=True)
class PolicySource:
    """A file of the right shape: its name, what it says, the line of every path in it, and what it makes public."""

    file: str
    policy: PolicyFile
    lines: Mapping[Path, int]
    public: PublicMessages = NOTHING_PUBLIC

    def problem(self, path: Path, message: str) -> Problem:
        """Make a problem at a path."""
        return Problem(self.file, line_of(path, self.lines), path_text(path), message)

    def line(self, *path: str | int) -> int:
        """Give the line of a path, or of what stands above it."""
        return line_of(path, self.lines)


def check_file(source: PolicySource) -> list[Problem]:
    """Check one file in itself."""
    return [
        *_names(source),
        *_keys(source),
        *_thresholds(source),
        *_exemplars(source),
        *_prefix(source),
        *_budgets(source),
    ]


def check_set(sources: Sequence[PolicySource]) -> list[Problem]:
    """Check what several files may not both say."""
    return [*_tenants(sources), *_shared_keys(sources), *_doors(sources)]


def _names(source: PolicySource) -> Iterator[Problem]:
    policy = source.policy
    stated: list[tuple[Path, str | None]] = [(("default_domain",), policy.default_domain)]
    stated += [(("assign", "rules", i, "domain"), rule.domain) for i, rule in enumerate(policy.assign.rules)]
    stated += [(("tests", i, "domain"), trial.domain) for i, trial in enumerate(policy.tests)]
    for path, name in stated:
        if name is not None and name not in policy.domains:
            yield source.problem(path, f"should be one of the domains: {_listed(policy.domains)}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _keys(source: PolicySource) -> Iterator[Problem]:
    names: set[str] = set()
    for index, key in enumerate(source.policy.access.keys):
        if key.name in names:
            yield source.problem(("access", "keys", index, "name"), "this name stands here twice")
        names.add(key.name)


def _thresholds(source: PolicySource) -> Iterator[Problem]:
    for domain in source.policy.domains:
        knobs = effective(source.policy, domain)
        if knobs.threshold is None:
            if knobs.mode in (Mode.SEMANTIC, Mode.SHADOW):
                yield source.problem(
                    ("domains", domain), f"mode {knobs.mode.value} needs a threshold, here or in defaults"
                )
            continue
        for name in ("verified_threshold", "draft_threshold"):
            value = getattr(knobs, name)
            if value is not None and value > knobs.threshold:
                yield source.problem(
                    _place(source, domain, name), f"should be at most threshold ({knobs.threshold:g})"
                )
        yield from _bands(source, domain, knobs)


def _bands(source: PolicySource, domain: str, knobs: DomainKnobs) -> Iterator[Problem]:
    """Check that an encoder states a raw cosine for each threshold of the domain, in the same order."""
    place = _place(source, domain, "encoder_thresholds")
    for encoder, band in knobs.encoder_thresholds.items():
        for name, raw, bar in (
            ("verified", band.verified, knobs.verified_threshold),
            ("draft", band.draft, knobs.draft_threshold),
        ):
            if raw is None and bar is not None:
                yield source.problem(
                    (*place, encoder), f"should state {name}: the domain has a {name}_threshold"
                )
            if raw is not None and bar is None:
                yield source.problem((*place, encoder, name), f"means nothing without a {name}_threshold")
        curve = points(knobs, band)
        if any((raw < next_raw) != (bar < next_bar) for (raw, bar), (next_raw, next_bar) in pairwise(curve)):
            yield source.problem(
                (*place, encoder),
                "should rise as the domain's thresholds do: a higher one has a higher cosine",
            )


def _place(source: PolicySource, domain: str, knob: str) -> Path:
    """Say where a knob that holds in a domain was stated."""
    own: Path = ("domains", domain, knob)
    return own if own in source.lines else ("defaults", knob)


def _exemplars(source: PolicySource) -> Iterator[Problem]:
    for name in source.policy.classifier.exemplars:
        if name != OTHER and name not in source.policy.domains:
            allowed = _listed([*source.policy.domains, OTHER])
            yield source.problem(("classifier", "exemplars", name), f"should be one of: {allowed}")
    if source.policy.classifier.enabled and not set(source.policy.domains) & {
        *source.policy.classifier.exemplars,
        *BUILT_IN,
    }:
        yield source.problem(("classifier", "enabled"), "no domain of this file has exemplars")


def _prefix(source: PolicySource) -> Iterator[Problem]:
    """Check what one tenant may say of computed prompts; what is public to all is not its to decide."""
    knobs = source.policy.prefix
    if knobs.public and source.policy.tenant != OPERATOR:
        yield source.problem(
            ("prefix", "public"),
            f"is for all tenants, so only the operator's own file (tenant {OPERATOR}) may state it",
        )
    if knobs.max_tokens is not None and knobs.reserve_tokens > knobs.max_tokens:
        yield source.problem(
            ("prefix", "reserve_tokens"), f"should be at most max_tokens ({knobs.max_tokens})"
        )


def _budgets(source: PolicySource) -> Iterator[Problem]:
    knobs, known = source.policy.costs, {key.name for key in source.policy.access.keys}
    for index in knobs.twice():
        yield source.problem(("costs", "budgets", index, "name"), "this name stands here twice")
    for index, budget in enumerate(knobs.budgets):
        for place, name in enumerate(budget.keys):
            if name not in known:
                path = ("costs", "budgets", index, "keys", place)
                yield source.problem(path, "should be the name of a key in access.keys")


def _tenants(sources: Sequence[PolicySource]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for source in sources:
        tenant = source.policy.tenant
        if tenant in first:
            yield source.problem(("tenant",), f"{first[tenant]} already speaks for this tenant")
        first.setdefault(tenant, source.file)


def _shared_keys(sources: Sequence[PolicySource]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for source in sources:
        for index, key in enumerate(source.policy.access.keys):
            if key.hash in first:
                yield source.problem(
                    ("access", "keys", index, "hash"), f"this key already belongs to {first[key.hash]}"
                )
            first.setdefault(key.hash, f"{source.file} ({key.name})")


def _doors(sources: Sequence[PolicySource]) -> Iterator[Problem]:
    for knob, value in (("anonymous", "loopback"), ("unknown_keys", "passthrough")):
        first = ""
        for source in sources:
            if getattr(source.policy.access, knob) != value:
                continue
            if first:
                yield source.problem(
                    ("access", knob), f"one tenant at most may say {value}, and {first} already does"
                )
            first = first or source.file
