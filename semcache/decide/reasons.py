"""The closed vocabulary of decision reasons and gate words.

Dashboards group by these words, so they are few, stable and never contain prompt text. Knows
nothing of how a reason is found.
"""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why the cache had no part, found nothing, or will not store."""

    # The cache has no part (core.Bypass).
    POLICY_OFF = "policy-off"
    """The policy's mode is `off`."""
    ASKED_OFF = "asked-off"
    """The client sent `Semcache-Mode: off`."""
    NO_CACHE_NO_STORE = "no-cache-no-store"
    """The client forbids both reading and storing."""
    UNCACHEABLE = "uncacheable"
    """The request holds something that no cache may answer."""
    TEMPERATURE = "temperature"
    """The sampling temperature is above what the policy caches."""
    DEFAULT_TEMPERATURE = "default-temperature"
    """No temperature is given and the policy does not cache the upstream's default."""
    TOOLS = "tools"
    """The request (or its answer) uses tools and the policy forbids that."""

    # Not looked up, or only by exact key.
    NO_CACHE = "no-cache"
    """The client forbids reading."""
    EXACT_ONLY = "exact-only"
    """Policy, client or a feature of the request closes the semantic tier."""
    NO_PROMPT = "no-prompt"
    """The last message is not a user's text."""
    LONG_CONVERSATION = "long-conversation"
    """More user turns than the policy matches by meaning."""
    PERSONAL = "personal"
    """Question or answer are about one person, and the policy shares answers between users."""

    # Looked up, nothing to serve (core.Miss).
    EMPTY = "empty"
    """No candidate at all."""
    BELOW_THRESHOLD = "below-threshold"
    """The nearest live entry is not near enough."""
    GATE = "gate"
    """Near enough, but the text rules say that the answer differs."""
    VERIFIER = "verifier"
    """Near enough, but the verifier does not hold the answer for right, or cannot tell."""
    RISK = "risk"
    """Everything speaks for it, but the evidence of the domain does not allow hits at this score (yet)."""
    CONTEXT = "context"
    """Near enough, but what was said before the two questions does not come to the same."""
    STALE = "stale"
    """Near enough, but past its lifetime or older than allowed."""
    REJECTED = "rejected"
    """Near enough, but a human rejected it."""
    BARRED = "barred"
    """Near enough, but a caller or a human said that it does not answer this question."""
    NARROWED = "narrowed"
    """Near enough, but a human left it to the one who asked first."""
    UNCONFIRMED = "unconfirmed"
    """Everything speaks for it, but it is its author's alone until others got the same from the model themselves."""
    UNMATCHABLE = "unmatchable"
    """Near enough, but the entry may only be found by its exact key, has no usable score, or is another tenant's."""

    # Not stored.
    NO_STORE = "no-store"
    """Policy or client forbids storing."""
    NO_LIFETIME = "no-lifetime"
    """The lifetime left after every tightening is zero."""
    TOO_LARGE = "too-large"
    """The answer exceeds the policy's size limit."""
    EMPTY_ANSWER = "empty-answer"
    """There is no answer in the answer."""
    FORM = "form"
    """The answer has not the form that the request demands (`response_format`)."""


class Veto(StrEnum):
    """Which rule of the gate objects; all but `UNREAD` are switched by the field of `GateRules` with this name."""

    NUMBERS = "numbers"
    UNITS = "units"
    MONEY = "money"
    DATES = "dates"
    NEGATION = "negation"
    ANTONYMS = "antonyms"
    QUANTIFIERS = "quantifiers"
    """All, some, only, each, at least."""
    COMPARISON = "comparison"
    """More and less, before and after, cheaper and dearer."""
    ORDER = "order"
    NAMES = "names"
    CODES = "codes"
    """Another identifier, option, quotation, address or operator."""
    PERSONS = "persons"
    """Other people: adult and child, patient and nurse, me and my son."""
    PLACES = "places"
    KIND = "kind"
    """Another member of one closed group: dog for cat, Java for Python, winter for summer."""
    FORMAT = "format"
    """Another form of answer is asked for."""
    LENGTH = "length"
    LANGUAGE = "language"
    QUESTION = "question"
    """Another kind of question (who, when, why, how to ...)."""
    FRAGMENT = "fragment"
    """No question of its own: what was said before decides its meaning."""
    PAYLOAD = "payload"
    """The same instruction for another text."""
    LONG = "long"
    """Long texts that differ in more than a few words."""
    UNREAD = "unread"
    """The part that the gate does not read differs."""
