"""A policy file from what was found, with the figures behind each knob as comments. Pure.

It begins from the policy that the log was replayed under and changes what the figures speak for: the mode of each domain, whether hits by
meaning must be proven first, who shares answers, lifetimes, quotas. Where little is known it starts in shadow, or with exact repeats alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from semcache.advise.advice import CHANGED_SHARE, OFF, ON, PERSONAL_SHARE, SHADOW, UNKNOWN, verdicts
from semcache.advise.findings import DomainReplay, Findings
from semcache.advise.telling import count, share, size
from semcache.core import CachePolicy, Mode, TenantId
from semcache.policy.snapshot import PolicySnapshot

_SHORT_LIFE = 3_600
_SPARE = 1.25
"""Room beside what the log needed."""
_LEAST_ENTRIES = 1_000
_DIGESTS = ("hash", "sha256")


def policy_text(found: Findings, snapshot: PolicySnapshot, tenant: TenantId) -> str:
    """Give the text of a policy file that the product's loader takes.

    Args:
        found: with `advice`; without it, or where that knows nothing, all is in shadow.
        snapshot: the policies that were replayed under.
        tenant: whose of them the file begins from, and is for.
    """
    source = snapshot.tenant(tenant).source.policy
    # A domain may state what is built in against its file's own `defaults`; elsewhere that says nothing.
    stated, told = source.model_dump(exclude_unset=True), source.model_dump(exclude_defaults=True)
    lines = [*_head(found), "schema_version: 1", f"tenant: {tenant}"]
    lines += _as_it_was(told, "access", "upstream", "models")
    lines += [
        f"default_domain: {source.default_domain}",
        "",
        *_defaults(found, told.get("defaults", {})),
        "",
        "domains:",
    ]
    policies = snapshot.tenant(tenant).domains
    for name in source.domains:
        lines += _domain(found, name, stated["domains"][name], policies[name])
    lines.append("")
    lines += [*_as_it_was(told, "assign", "classifier", "prefix", "costs", "history"), "", *_quotas(found)]
    return "\n".join(lines) + "\n"


def _as_it_was(told: dict[str, Any], *parts: str) -> list[str]:
    """Give parts of the old file that the log says nothing of."""
    return [f"{part}: {_flow(told[part])}" for part in parts if part in told]


def _flow(value: Any) -> str:
    """Write a value on one line: JSON is YAML too, and here fit for reading."""
    return json.dumps(_plain(value), ensure_ascii=False, separators=(", ", ": "))


def _plain(value: Any) -> Any:
    match value:
        case Decimal():
            return _plain(float(value))
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            return {name: _digest(each) if name in _DIGESTS else _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return value


def _digest(value: Any) -> Any:
    """Write a digest as files do: the policy itself knows its digits alone."""
    return f"sha256:{value}" if isinstance(value, str) else value


def _head(found: Findings) -> Iterator[str]:
    yield f"# Proposed by `semcache analyze` from {count(found.reading.rows)} requests of a log."
    yield "# The figures in comments are those of the log. What one line says holds for the lines below it."
    semantic = found.semantic
    if semantic is not None and semantic.sampled:
        yield f"# Replayed: {semantic.sample}."
    yield "#"
    yield "# Try it: semcache policy check DIRECTORY; semcache serve --policies DIRECTORY"


def _defaults(found: Findings, inherited: Mapping[str, Any]) -> Iterator[str]:
    """What domains inherit, as far as it is not built in; careful for those that the log tells nothing of."""
    exact = found.exact
    yield "defaults:"
    yield "  # A domain that the log says nothing of: equal requests only."
    yield "  mode: exact"
    if exact.requests:
        within, ever = share(exact.hits / exact.requests), share(exact.repeats / exact.requests)
        yield f"  # {within} of all requests are exact repeats within an answer's life, {ever} repeat one at any time before."
    for name, value in inherited.items():
        if name != "mode":
            yield f"  {name}: {_flow(value)}"


def _domain(found: Findings, name: str, told: dict[str, Any], policy: CachePolicy) -> Iterator[str]:
    replayed = (
        next((each for each in found.semantic.domains if each.domain == name), None)
        if found.semantic
        else None
    )
    levels = found.advice.levels if found.advice is not None else ()
    known = verdicts(levels)
    exact = known.get((name, "exact"), known.get(("", "exact"), UNKNOWN))
    meaning = known.get((name, "meaning"), UNKNOWN if replayed is not None else OFF)
    thin = found.advice is None or found.advice.switch_on is None
    mode, proven = _mode(exact, meaning, thin=thin, seen=replayed is not None)
    mode = _no_bolder(mode, policy.mode)
    yield f"  {name}:"
    for level in levels:
        if level.domain == name:
            yield f"    # {level.level}: {level.verdict}; {'; '.join(level.why)}."
    if replayed is None and found.semantic is not None:
        yield "    # No request of the log was of this domain."
    yield f"    mode: {mode}"
    kept = {key: value for key, value in told.items() if key != "mode"}
    yield from _scope(replayed, exact, kept)
    yield from _life(replayed, policy, kept)
    if mode == "semantic" and not proven:
        risk = dict(kept.get("risk") or {})
        # What is stricter already stays so.
        if policy.risk.until_proven.value == "serve":
            risk["until_proven"] = "shadow"
            yield "    # Equal requests are served at once; by meaning nothing is, until audits prove that few enough are wrong."
        kept["risk"] = risk
    for key, value in kept.items():
        if value != {}:
            yield f"    {key}: {_flow(value)}"


def _mode(exact: str, meaning: str, *, thin: bool, seen: bool) -> tuple[str, bool]:
    """Give the mode, and whether hits by meaning may be served from the beginning."""
    if not seen:
        return "exact" if exact == ON and not thin else "shadow" if thin else "exact", False
    if thin or UNKNOWN in (exact, meaning) or exact == SHADOW:
        return "shadow", False
    if meaning in (ON, SHADOW):
        return "semantic", meaning == ON
    return ("exact", False) if exact == ON else ("off", False)


def _no_bolder(mode: str, before: Mode) -> str:
    """Leave what the operator closed: a domain that was off stays off, one without matching by meaning has no thresholds for it."""
    match before:
        case Mode.OFF:
            return "off"
        case Mode.EXACT if mode in ("shadow", "semantic"):
            return "exact"
        case _:
            return mode


def _scope(replayed: DomainReplay | None, exact: str, kept: dict[str, Any]) -> Iterator[str]:
    if replayed is None or not replayed.looked or exact != ON:
        return
    personal = replayed.personal / replayed.looked
    if personal >= PERSONAL_SHARE:
        kept["scope"] = "user"
        yield f"    # {share(personal)} of what is asked tells something of the asker: nobody else gets these answers."


def _life(replayed: DomainReplay | None, policy: CachePolicy, kept: dict[str, Any]) -> Iterator[str]:
    if replayed is None:
        return
    same, changed, _ = replayed.repeated
    if same + changed and changed / (same + changed) >= CHANGED_SHARE / 2 and policy.ttl > _SHORT_LIFE:
        kept["ttl"] = _SHORT_LIFE
        yield f"    # {share(changed / (same + changed))} of {same + changed} exact repeats compared got other facts as an answer: shorter lives."


def _quotas(found: Findings) -> Iterator[str]:
    answers = found.sizes.answers
    most = (
        max((each for each in answers.sizes), key=lambda each: each.share, default=None) if answers else None
    )
    if most is None or not most.items:
        return
    yield f"# {count(most.items)} stored answers ({size(most.bytes)}) gave {share(most.share)} of what an unlimited cache would."
    entries = max(_LEAST_ENTRIES, int(most.items * _SPARE))
    yield f"quotas: {{max_entries: {entries}, max_bytes: {max(64 << 20, int(most.bytes * _SPARE))}}}"
