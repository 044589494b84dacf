"""Whether to switch reuse on, by domain and level, with the figures that led there. Pure.

Each rule is a comparison of a figure of the log with a number that stands here with its reason. An honest "no" is as good an answer as a yes:
too little repetition, too personal, too much about the present, too risky, or too little known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from semcache.advise.findings import Advice, DomainReplay, DomainWorth, Findings, LevelAdvice
from semcache.advise.telling import between, count, money, seconds, share, size
from semcache.decide.risk.fixed import clopper_pearson

ENOUGH = 100
"""Requests below which a domain's shares are hardly known."""
EXACT_SHARE = 0.01
"""An exact hit costs a fraction of a millisecond and is never another question's answer: one in a hundred is worth it."""
MEANING_SHARE = 0.02
"""A hit by meaning costs every other request a vector, and somebody's attention to wrong ones."""
PREFIX_SHARE = 0.2
"""Below this share of tokens, computed beginnings are not worth the memory they take."""
PROVIDER_SHARE = 0.1
PERSONAL_SHARE = 0.3
"""From here up what is asked is mostly about the asker: nobody else's answer."""
VOLATILE_SHARE = 0.5
"""From here up most answers are true for minutes only."""
CHANGED_SHARE = 0.2
"""From here up equal questions got other facts as answers too often for a stored one."""
_SLOW = 1.0
"""Seconds in the mean from which people notice that they wait."""
_REPEATS = 20

ON, SHADOW, OFF, UNKNOWN = "on", "shadow", "off", "unknown"


def advice_of(found: Findings) -> Advice:
    """Give what to do; `policy` is left empty (see `proposal`)."""
    levels = tuple(_levels(found))
    answers = [each for each in levels if each.level in ("exact", "meaning")]
    return Advice(
        switch_on=_verdict(found, answers),
        reasons=tuple(_reasons(found, answers)),
        steps=tuple(_steps(found, levels)),
        levels=levels,
    )


def _verdict(found: Findings, answers: Sequence[LevelAdvice]) -> bool | None:
    """Say whether to switch anything on: yes where any level is to be on, no where all are off, else nobody knows."""
    if found.reading.rows < ENOUGH:
        return None
    if any(each.verdict == ON for each in answers):
        return True
    return False if all(each.verdict == OFF for each in answers) else None


# -- levels --------------------------------------------------------------------------------------


def _levels(found: Findings) -> Iterator[LevelAdvice]:
    semantic = found.semantic
    if semantic is None:
        yield _exact_of_all(found)
    else:
        worths = {each.domain: each for each in found.worth.domains} if found.worth is not None else {}
        for domain in sorted(semantic.domains, key=lambda each: -each.requests):
            yield LevelAdvice(domain.domain, "exact", *exact_level(domain))
            yield LevelAdvice(domain.domain, "meaning", *meaning_level(domain, worths.get(domain.domain)))
    yield LevelAdvice("", "prefix", *_prefix_level(found))
    yield LevelAdvice("", "provider", *_provider_level(found))


def _exact_of_all(found: Findings) -> LevelAdvice:
    exact = found.exact
    if exact.requests < ENOUGH:
        return LevelAdvice("", "exact", UNKNOWN, (_too_few(exact.requests),))
    repeats = exact.hits / exact.requests
    told = (
        f"{share(repeats)} of {count(exact.requests)} requests repeat one exactly within {seconds(exact.ttl)}"
    )
    return LevelAdvice("", "exact", ON if repeats >= EXACT_SHARE else OFF, (told,))


def exact_level(domain: DomainReplay) -> tuple[str, tuple[str, ...]]:
    """Say what to do with exact repeats of a domain, and why."""
    if domain.requests < ENOUGH:
        return UNKNOWN, (_too_few(domain.requests),)
    rate = domain.exact / domain.requests
    told = f"{share(rate)} exact repeats within {seconds(domain.ttl)}"
    if rate < EXACT_SHARE:
        return OFF, (f"{told}: too little repetition (from {share(EXACT_SHARE)} up it is worth while)",)
    against = tuple(_changing(domain))
    if against:
        return SHADOW, (told, *against)
    personal = _share(domain.personal, domain.looked)
    if personal >= PERSONAL_SHARE:
        return ON, (
            told,
            f"{share(personal)} of what is asked tells something of the asker: for each user alone",
        )
    return ON, (told,)


def meaning_level(domain: DomainReplay, worth: DomainWorth | None) -> tuple[str, tuple[str, ...]]:
    """Say what to do with hits by meaning of a domain, and why."""
    if domain.requests < ENOUGH:
        return UNKNOWN, (_too_few(domain.requests),)
    personal = _share(domain.personal, domain.looked)
    if personal >= PERSONAL_SHARE:
        return OFF, (f"{share(personal)} of what is asked tells something of the asker: too personal",)
    against = tuple(_time_sensitive(domain))
    if against:
        return OFF, against
    rate, held = domain.semantic / domain.requests, domain.would_be / domain.requests
    told = f"{share(rate)} hits by meaning beside the exact ones"
    if rate + held < MEANING_SHARE:
        return OFF, (f"{told}: too little repetition (from {share(MEANING_SHARE)} up it is worth while)",)
    if rate < MEANING_SHARE:
        word = f"{share(held)} more are kept back until the tenant's own evidence proves at most {share(domain.budget)} wrong"
        return SHADOW, (told, word)
    verdict, why = _risk(domain)
    if verdict is ON and worth is not None and worth.by_meaning is not None:
        gain = worth.by_meaning - (worth.audits or 0) - worth.embedding
        if gain < 0:
            return OFF, (
                told,
                *why,
                f"audits and vectors cost more than these hits save ({money(gain)} a day)",
            )
    return verdict, (told, *why)


def _risk(domain: DomainReplay) -> tuple[str, tuple[str, ...]]:
    if domain.wrong_interval is None or not domain.semantic:
        return SHADOW, ("how many of them would be wrong is not known",)
    low, high = (end / domain.semantic for end in domain.wrong_interval)
    told = f"{between(low, high)} of them expected wrong ({_by(domain)}), {share(domain.budget)} allowed"
    if low > domain.budget:
        return OFF, (f"{told}: too risky",)
    if high <= domain.budget:
        return ON, (told,)
    return SHADOW, (f"{told}: to be proven on live traffic first",)


def _by(domain: DomainReplay) -> str:
    right, wrong, undecided = domain.compared
    if domain.wrong_method == "compared":
        return f"{count(right + wrong)} pairs of answers compared, {count(undecided)} undecided"
    return "by the shipped calibration, no answers to compare"


def _time_sensitive(domain: DomainReplay) -> Iterator[str]:
    volatile = _share(domain.volatile, domain.looked)
    if volatile >= VOLATILE_SHARE:
        yield f"{share(volatile)} of what is asked is about the present: answers are true for minutes"
    yield from _changing(domain)


def _changing(domain: DomainReplay) -> Iterator[str]:
    """Say so where equal questions get other answers; those about the present live for minutes anyhow."""
    same, changed, _ = domain.repeated
    if same + changed >= _REPEATS:
        low, _ = clopper_pearson(same + changed, changed)
        if low >= CHANGED_SHARE:
            told = share(changed / (same + changed))
            yield f"{told} of {same + changed} exact repeats compared got an answer with other facts: it changes with time"


def _prefix_level(found: Findings) -> tuple[str, tuple[str, ...]]:
    shared = found.overlap.all
    if shared.requests < ENOUGH or not shared.tokens:
        return UNKNOWN, (_too_few(shared.requests),)
    told = f"{share(shared.share)} of the prompts' tokens stand in a beginning that came before"
    if shared.share < PREFIX_SHARE:
        return OFF, (f"{told}: too few (from {share(PREFIX_SHARE)} up it is worth the memory)",)
    return ON, (f"{told}: with the local engine, or vLLM or SGLang, they need not be computed again",)


def _provider_level(found: Findings) -> tuple[str, tuple[str, ...]]:
    provider, total = found.overlap.provider, found.spending.total
    if provider is not None and provider.requests < ENOUGH:
        return UNKNOWN, (_too_few(provider.requests),)
    if provider is None or not provider.tokens:
        return UNKNOWN, ("without times nobody knows what a provider's prompt cache would still hold",)
    told = (
        f"{share(provider.share)} of the input stand in a beginning of at least {count(found.overlap.provider_least)} tokens"
        f" used within {seconds(found.overlap.provider_life)} before"
    )
    used = f"{share(_share(total.cached, total.input))} are billed as cached already"
    if provider.share < PROVIDER_SHARE:
        return OFF, (told, used)
    worth = found.worth.by_provider if found.worth is not None else None
    more = (
        (f"at most {money(worth)} a day more",)
        if worth and found.worth is not None and found.worth.days
        else ()
    )
    return ON, (told, used, *more)


# -- in words ------------------------------------------------------------------------------------


def _reasons(found: Findings, answers: Sequence[LevelAdvice]) -> Iterator[str]:
    rows = found.reading.rows
    if rows < ENOUGH:
        yield f"The log holds too few requests to advise on ({count(rows)}, at least {ENOUGH} are needed)."
    semantic, worth = found.semantic, found.worth
    if semantic is not None and semantic.requests:
        yield (
            f"{share(semantic.hits / semantic.requests)} of {count(semantic.requests)} replayed requests would be answered from the"
            f" cache: {share(semantic.exact / semantic.requests)} exact repeats, {share(semantic.semantic / semantic.requests)} by meaning."
        )
    elif found.exact.requests:
        yield f"{share(found.exact.hits / found.exact.requests)} of the requests are exact repeats; meaning was not replayed."
    if worth is not None and rows >= ENOUGH:
        yield from _worth_words(found)
    wait = found.spending.seconds_p50
    if wait is not None:
        feel = "people wait for answers" if wait >= _SLOW else "answers come quickly anyway"
        yield f"Half of the answers took {seconds(wait)} or more: {feel}; a hit takes milliseconds."
    yield from _size_words(found)
    for word, verdict in (("is to be off", OFF), ("stays in shadow first", SHADOW)):
        told = [each for each in answers if each.verdict == verdict and each.level == "meaning"]
        if told and semantic is not None:
            names = ", ".join(each.domain for each in told[:6])
            yield f"By meaning {word} in: {names}."


def _size_words(found: Findings) -> Iterator[str]:
    if found.sizes.answers is not None:
        for each in found.sizes.answers.sizes:
            if each.share >= 0.95:
                yield f"{count(each.items)} stored answers ({size(each.bytes)}) give {share(each.share)} of what an unlimited cache would."


def _worth_words(found: Findings) -> Iterator[str]:
    worth = found.worth
    if worth is None:
        return
    net, per = worth.total.net, "a day" if worth.days else "over the whole log"
    if net is None:
        yield f"No hit has a price: what is spared is {count(worth.total.input)} input and {count(worth.total.output)} output tokens {per}."
    elif net > 0:
        yield f"It saves {money(net)} {per} after audits and vectors" + (
            f", {money(worth.month)} in thirty days." if worth.month is not None else "."
        )
    else:
        yield f"It saves nothing after audits and vectors ({money(net)} {per})."
    if worth.total.seconds:
        yield f"It spares {seconds(worth.total.seconds)} of waiting {per}."


def _steps(found: Findings, levels: Sequence[LevelAdvice]) -> Iterator[str]:
    by = {(each.domain, each.level): each.verdict for each in levels}
    if any(verdict == ON for (_, level), verdict in by.items() if level in ("exact", "meaning")):
        yield "Put semcache in front of the API with the policy below."
    elif any(
        verdict in (SHADOW, UNKNOWN) for (_, level), verdict in by.items() if level in ("exact", "meaning")
    ):
        yield "Put semcache in front of the API in shadow mode (the policy below): it serves nothing, and counts what it would."
    if any(verdict in (SHADOW, ON) for (_, level), verdict in by.items() if level == "meaning"):
        yield "Look at `semcache report quality` after a week: what audits prove opens by itself, what they refute closes."
    if by.get(("", "provider")) == ON:
        yield "Let prompts begin with what stays the same, so that the provider's prompt cache takes it (mark it, where the provider wants marks)."
    if by.get(("", "prefix")) == ON:
        yield "Where models run on your own machines, keep computed beginnings: `semcache engine`, or vLLM's and SGLang's prefix cache."
    lint = sorted(found.lint or (), key=lambda each: -each.tokens)
    if lint:
        yield f"Mend what breaks shared beginnings, the costliest first: {lint[0].fix}"
        if by and all(verdict == OFF for (domain, _), verdict in by.items() if domain):
            yield "Then analyze a new log: prompts that differ there share no answers either, so what is off now may be worth while."
    if found.semantic is not None and found.semantic.answers * 2 < found.semantic.requests:
        yield "Log the answers too: then wrong hits can be counted instead of estimated."


def _too_few(requests: int) -> str:
    return f"too few requests to tell ({count(requests)}, at least {ENOUGH} are needed)"


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def verdicts(levels: Iterable[LevelAdvice]) -> dict[tuple[str, str], str]:
    """Give the verdicts by domain and level."""
    return {(each.domain, each.level): each.verdict for each in levels}
