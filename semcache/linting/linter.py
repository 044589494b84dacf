"""Finds what keeps the beginnings of prompts from being reused, prompt by prompt, in bounded memory.

A prompt that goes on with a conversation is compared with the request before it; one that begins a conversation, with
earlier prompts that are meant to begin like it. Used on live traffic (`watch`) and on logs alike. Knows no store,
no clock and no prices but those handed in.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace

from semcache.core import Labels
from semcache.cost_port import DAY, Cause, LintFinding
from semcache.linting.compare import bytes_of, without_blanks, without_digits
from semcache.linting.families import Families, Family, Placed, digest_of
from semcache.linting.heads import Head, head_of, part_heads, where_of
from semcache.linting.parting import Parting, made
from semcache.linting.prompt import Prompt, Turn
from semcache.linting.rules import LintRules
from semcache.linting.talks import Found, Talks, marks_of, rewrite_of
from semcache.linting.tally import Lost, Price, finding_of, pooled
from semcache.tokens import tokens_of

__all__ = ["Linter", "Price"]


class Linter:
    """Compares each prompt with earlier ones that are meant to begin like it. Not safe for threads.

    Args:
        rules: bounds, and from when on a cause is reported.
    """

    def __init__(self, rules: LintRules | None = None) -> None:
        self._rules = rules or LintRules()
        self._families = Families(self._rules, self._archive)
        self._talks = Talks(self._rules)
        self._archived: list[LintFinding] = []

    def feed(
        self,
        prompt: Prompt,
        at: float,
        tenant: str,
        model: str,
        labels: Labels = (),
        price: Price | None = None,
        *,
        weight: int = 1,
    ) -> None:
        """Take one prompt; those of one tenant in order of time.

        Args:
            prompt: what was sent.
            at: Unix seconds.
            tenant: whose it is; nothing is compared across tenants.
            model: who was asked.
            labels: of the request.
            price: what lost tokens cost; None: not known.
            weight: how many prompts it stands for, where only some are looked at.
        """
        head, turns = head_of(prompt, self._rules.longest), prompt.turns
        marks, day = marks_of(turns), _day(at)
        placed = self._families.place(head, tenant, model, labels)
        found = self._talks.continued(tenant, (model, head.mark), turns, marks)
        tally = placed.family.tally(day)
        tally.count(weight, continues=found is not None)
        if found is None:
            family, lost = self._begun(placed, head, turns, tenant, model, labels, day, weight)
        else:
            family, lost = placed.family, _went_on(found, placed, head, turns, marks, model)
        if lost is not None and lost.tokens >= self._rules.least_each:
            family.tally(day).lose(replace(lost, weight=weight), price, self._rules)
        self._talks.keep(found, tenant, model, head, placed.family, turns, marks)

    def findings(self) -> tuple[LintFinding, ...]:
        """Give what was found so far, most tokens lost first."""
        families = self._families.all
        found = [one for family in families for one in _findings(family, self._rules)]
        return tuple(sorted((*self._archived, *found, *_pooled(families, self._rules)), key=_lost_most))

    def forget(self, before: int) -> None:
        """Forget what was counted on days before this one; prompts are still known again."""
        self._archived = [finding for finding in self._archived if finding.day >= before]
        for family in self._families.all:
            for day in [day for day in family.days if day < before]:
                del family.days[day]

    def _begun(
        self,
        placed: Placed,
        head: Head,
        turns: tuple[Turn, ...],
        tenant: str,
        model: str,
        labels: Labels,
        day: int,
        weight: int,
    ) -> tuple[Family, Lost | None]:
        """A conversation begins: its head and its first message are compared with those of others."""
        question = self._question(placed.family, turns, tenant, model, labels)
        if placed.parting is not None:
            lost = _in_head(
                placed.parting, head, 0 if question is None else _same_question(question, turns[0])
            )
            if lost.tokens or question is None:
                return placed.family, lost
        if question is None:
            return placed.family, None
        question.family.tally(day).count(weight, continues=False)
        if question.parting is None or question.parting.is_edit:
            return question.family, None
        return question.family, _in_turn(question.parting, head, turns, 0, question.parting.shared)

    def _question(
        self, family: Family, turns: tuple[Turn, ...], tenant: str, model: str, labels: Labels
    ) -> Placed | None:
        """Place the first message among others behind the same head, where it is long enough to share anything."""
        if not turns or len(turns[0].text) < self._rules.document:
            return None
        text = Head((), turns[0].text, self._rules.longest)
        return self._families.place(text, tenant, model, labels, within=family.serial)

    def _archive(self, family: Family) -> None:
        self._archived += _findings(family, self._rules)
        if len(self._archived) > self._rules.archive:
            self._archived = sorted(self._archived, key=_lost_most)[: self._rules.archive // 2]


def _went_on(
    found: Found, placed: Placed, head: Head, turns: tuple[Turn, ...], marks: tuple[int, ...], model: str
) -> Lost | None:
    """A conversation goes on: everything before its new messages could have been reused."""
    talk = found.talk
    same = _same_turns(found, marks)
    history = sum(tokens_of(turn.text) for turn in turns[:same])
    if talk.model != model:
        earlier = _earlier_of(found, model)
        known = 0 if earlier is None else min(len(earlier), same)
        tokens = sum(tokens_of(turn.text) for turn in turns[known:same]) + (
            0 if known else _tokens(head.text)
        )
        return Lost(made(Cause.MODEL_CHANGED, "", 0, 0, "", overlap=1.0), "model", 0, 0, tokens, within=True)
    if talk.head.mark != head.mark:
        parting = part_heads(talk.head, head) or _appended(talk.head, head)
        # What was seen with this head before, in whatever conversation, is not lost.
        shared = 0 if placed.parting is None else placed.parting.shared
        return replace(_in_head(replace(parting, shared=shared), head, history), within=True)
    rewrite = rewrite_of(found, turns, marks)
    if rewrite is None:
        return None
    lost = _in_turn(rewrite.parting, head, turns, rewrite.place, rewrite.tokens)
    return replace(lost, within=True)


def _in_head(parting: Parting, head: Head, more: int) -> Lost:
    before = head.text[: parting.at]
    return Lost(
        parting, where_of(head, parting.start), bytes_of(before), _tokens(before), parting.shared + more
    )


def _in_turn(parting: Parting, head: Head, turns: tuple[Turn, ...], place: int, tokens: int) -> Lost:
    texts = (head.text, *(turn.text for turn in turns[:place]), turns[place].text[: parting.at])
    size, before = sum(map(bytes_of, texts)), sum(map(_tokens, texts))
    return Lost(parting, turns[place].where, size, before, tokens)


def _appended(one: Head, other: Head) -> Parting:
    """The head is the earlier one and more, or less: nothing of it is lost, but what stands behind it is."""
    at = min(len(one.text), len(other.text))
    cause = Cause.TOOLS_CHANGED if one.tools != other.tools else Cause.SYSTEM_CHANGED
    if not without_blanks(one.text[at:] + other.text[at:]):
        cause = Cause.WHITESPACE
    return made(cause, other.text, at, at, "", overlap=1.0)


def _same_question(question: Placed, turn: Turn) -> int:
    if question.known:
        return tokens_of(turn.text)
    return _tokens(turn.text[: question.parting.at]) if question.parting is not None else 0


def _same_turns(found: Found, marks: tuple[int, ...]) -> int:
    before = found.talk.marks
    most = min(len(before), len(marks))
    return next((place for place in range(most) if before[place] != marks[place]), most)


def _earlier_of(found: Found, model: str) -> tuple[int, ...] | None:
    """Give the messages of the last request of this conversation that went to a model."""
    talk = found.talk.previous
    while talk is not None and talk.model != model:
        talk = talk.previous
    return None if talk is None else talk.marks


def _findings(family: Family, rules: LintRules) -> list[LintFinding]:
    group = ""
    found: list[LintFinding] = []
    for day, tally in family.days.items():
        for cause, what, prompts in tally.sure(rules):
            group = group or family.digest()
            found.append(
                finding_of(
                    cause,
                    what,
                    prompts,
                    tenant=family.tenant,
                    day=day,
                    group=group,
                    model=family.model,
                    labels=family.labels,
                )
            )
    return found


def _pooled(families: tuple[Family, ...], rules: LintRules) -> Iterator[LintFinding]:
    """Give what shows only for many small families together, such as those of many documents."""
    scopes: dict[tuple[Hashable, int], list[Family]] = {}
    for family in families:
        for day, tally in family.days.items():
            if tally.breaks:
                scopes.setdefault((family.scope, day), []).append(family)
    for (_, day), some in scopes.items():
        one = some[0]
        for cause, what, prompts in pooled([family.days[day] for family in some], rules):
            # What they share is no text; the same place in the same kind of prompts is the same group in every process.
            group = digest_of(("pooled", one.model, cause, str(one.question), without_digits(what.label)))
            yield finding_of(
                cause,
                what,
                prompts,
                tenant=one.tenant,
                day=day,
                group=group,
                model=one.model,
                labels=_shared_labels(some),
            )


def _shared_labels(families: list[Family]) -> Labels:
    first = families[0].labels
    return tuple(pair for pair in first if all(pair in family.labels for family in families))


def _lost_most(finding: LintFinding) -> tuple[int, int, str, str]:
    return -finding.tokens, finding.day, finding.group, finding.cause


def _tokens(text: str) -> int:
    return tokens_of(text) if text else 0


def _day(at: float) -> int:
    """Give the UTC day; a time that is none counts as day 0."""
    return int(at // DAY) if -1e12 < at < 1e12 else 0
