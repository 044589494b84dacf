"""Which requests may not be served from which tier: one table. Pure.

`admission` asks these rows and nothing else, in this order; docs/semantic-tier.md is written from them and from those of answers
(`answer_tiers`). What a feature of a request closes stands in `dialects.closing`; what is decided about two texts, in `gate` and `decision`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from semcache.core import CachePolicy, ChatRequest, Directives, Mode, Scope
from semcache.decide.lifetimes import lifetime
from semcache.decide.owned import asks_after_own
from semcache.decide.personal import signs_of_question
from semcache.decide.reasons import Reason
from semcache.dialects.closing import WEB_SEARCH

_LONGEST = 3_000
"""Characters of a question in which its asker is looked for: what encoders do not see is not matched by meaning anyhow."""


class Step(StrEnum):
    """Where a row is asked."""

    BYPASS = "bypass"
    """No part of the cache is used."""
    READ = "read"
    """Nothing stored is served."""
    MATCH = "match"
    """Nothing is served by meaning."""
    STORE = "store"
    """The answer is not stored."""


Check = Callable[[CachePolicy, ChatRequest, Directives], bool]


@dataclass(frozen=True, slots=True)
class Row:
    """One rule.

    Attributes:
        reason: the word in `Semcache-Reason` and in records.
        steps: where it is asked.
        what: closes the tier, for the docs.
        knob: of the policy, or what a client sends, that changes it; "": nothing does.
        holds: tells whether a request meets it.
    """

    reason: Reason
    steps: frozenset[Step]
    what: str
    knob: str
    holds: Check


def first(step: Step, policy: CachePolicy, request: ChatRequest, directives: Directives) -> str | None:
    """Give the reason of the first row that closes this step to a request, or None."""
    rows = _ASKED[step]
    return next((row.reason.value for row in rows if row.holds(policy, request, directives)), None)


def uses_tools(request: ChatRequest) -> bool:
    """True when a model may call tools."""
    return request.exact_only in ("tools", WEB_SEARCH) or bool(
        request.body.get("tools") or request.body.get("functions")
    )


def is_about_own(policy: CachePolicy, prompt: str | None) -> bool:
    """True for a question after the asker's own, where users share answers."""
    return policy.scope is Scope.TENANT and prompt is not None and asks_after_own(prompt)


def _is_off(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    del request, directives
    return policy.mode is Mode.OFF


def _is_asked_off(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    del policy, request
    return directives.mode == "off"


def _wants_nothing(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    del policy, request
    return directives.no_read and directives.no_store


def _is_uncacheable(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    del policy, directives
    return request.uncacheable is not None


def _has_tools(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    del directives
    return not policy.allow_tools and uses_tools(request)


def _has_no_temperature(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    del directives
    return request.temperature is None and not policy.allow_default_temperature


def _is_warm(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    """One that is not a number is warm."""
    del directives
    return request.temperature is not None and not request.temperature <= policy.max_temperature


def _forbids_reading(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    del policy, request
    return directives.no_read


def _is_exact(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    del request
    return policy.mode not in (Mode.SEMANTIC, Mode.SHADOW) or directives.mode in ("exact", "off")


def _has_feature(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    del policy, directives
    return request.exact_only is not None


def _has_no_prompt(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    del policy, directives
    return request.prompt is None or not request.prompt.strip()


def _is_long(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    del directives
    return request.user_turns > policy.max_user_turns


def _is_own(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    del directives
    return is_about_own(policy, request.prompt)


def _names_asker(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    del directives
    return policy.scope is Scope.TENANT and _has_signs((request.prompt or "")[:_LONGEST])


@lru_cache(maxsize=64)
def _has_signs(text: str) -> bool:
    """A request is asked about this up to three times on its way."""
    return bool(signs_of_question(text))


def _forbids_storing(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    del request
    return directives.no_store or not policy.store


def _lives_not(policy: CachePolicy, request: ChatRequest, directives: Directives) -> bool:
    del request
    return not lifetime(policy, directives, 1.0) > 0


def _at(*steps: Step) -> frozenset[Step]:
    return frozenset(steps)


_BYPASS, _READ, _MATCH, _STORE = Step.BYPASS, Step.READ, Step.MATCH, Step.STORE
ROWS: tuple[Row, ...] = (
    Row(Reason.POLICY_OFF, _at(_BYPASS, _READ, _STORE), "the policy is off", "`mode`", _is_off),
    Row(Reason.ASKED_OFF, _at(_BYPASS), "the client wants no cache", "`Semcache-Mode: off`", _is_asked_off),
    Row(
        Reason.NO_CACHE_NO_STORE,
        _at(_BYPASS),
        "the client wants nothing read and nothing stored",
        "`Cache-Control: no-cache, no-store`",
        _wants_nothing,
    ),
    Row(
        Reason.UNCACHEABLE,
        _at(_BYPASS, _STORE),
        "a feature of the request that ties its answer to state elsewhere, or that asks for no single answer (second table)",
        "",
        _is_uncacheable,
    ),
    Row(Reason.TOOLS, _at(_BYPASS), "tools, where the policy allows none", "`tools`", _has_tools),
    Row(
        Reason.DEFAULT_TEMPERATURE,
        _at(_BYPASS),
        "no temperature given, so that the upstream's default holds",
        "`sampling.allow_unset`",
        _has_no_temperature,
    ),
    Row(
        Reason.TEMPERATURE,
        _at(_BYPASS),
        "a temperature above the limit",
        "`sampling.max_temperature`",
        _is_warm,
    ),
    Row(
        Reason.NO_CACHE,
        _at(_READ),
        "the client wants a new answer",
        "`Cache-Control: no-cache`",
        _forbids_reading,
    ),
    Row(
        Reason.EXACT_ONLY,
        _at(_MATCH),
        "policy or client want equal requests only",
        "`mode`, `Semcache-Mode: exact`",
        _is_exact,
    ),
    Row(
        Reason.EXACT_ONLY,
        _at(_MATCH),
        "a feature of the request whose answer only an equal request may get (second table)",
        "",
        _has_feature,
    ),
    Row(Reason.NO_PROMPT, _at(_MATCH), "the last message is no text of a user", "", _has_no_prompt),
    Row(Reason.LONG_CONVERSATION, _at(_MATCH), "a long conversation", "`max_user_turns`", _is_long),
    Row(
        Reason.PERSONAL,
        _at(_MATCH, _STORE),
        "a question after something of the asker's own (`where is my order?`), where users share answers",
        "`scope: user`",
        _is_own,
    ),
    Row(
        Reason.PERSONAL,
        _at(_MATCH),
        "a question that tells who asks (a name, an address, a number of theirs), where users share answers",
        "`scope: user`",
        _names_asker,
    ),
    Row(
        Reason.NO_STORE,
        _at(_STORE),
        "policy or client want nothing stored",
        "`store.enabled`, `Cache-Control: no-store`",
        _forbids_storing,
    ),
    Row(
        Reason.NO_LIFETIME,
        _at(_STORE),
        "policy or client leave the answer no time to live",
        "`ttl`, `Semcache-Ttl`",
        _lives_not,
    ),
)
_ASKED = {step: tuple(row for row in ROWS if step in row.steps) for step in Step}
