"""Rows as requests, the answers they brought, and fair draws of what is compared."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import orjson
import pytest

from semcache.advise.asked import NO_ANSWER, LoggedGenerator, asked_of, exactly, place_of, usage_of
from semcache.advise.counted import Answers, Drawn, judged
from semcache.advise.rows import LogRow
from semcache.advise.wrong import Compared
from semcache.core import TenantId, Usage
from semcache.evaluate.domains import policies_at
from semcache.ports import UpstreamCall
from tests.evaluate.scene import ACME, POLICY

CALL = UpstreamCall("POST", "/", (), b"")


def row(text: str = "Hello?", **more: Any) -> LogRow:
    messages = more.pop("messages", [{"role": "user", "content": text}])
    body = {"model": "m", "messages": messages, **more.pop("body", {})}
    return LogRow(body, "log", 1, **more)


def place(folder: Path, one: LogRow, text: str = POLICY) -> int | None:
    path = folder / "acme.yaml"
    path.write_text(text)
    asked = asked_of(one, ACME)
    assert asked is not None
    return place_of(asked, policies_at(path))


def test_a_place_is_where_questions_can_meet(tmp_path: Path) -> None:
    system = {"role": "system", "content": "Be kind."}
    question = {"role": "user", "content": "Hello?"}
    history = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hi."}]
    here = place(tmp_path, row())
    assert here == place(tmp_path, row("Another question?"))
    assert here == place(tmp_path, row(messages=[*history, question]))
    others = [
        row(tenant="x"),
        row(messages=[system, question]),
        row(body={"model": "n"}),
        row(body={"max_tokens": 3}),
    ]
    assert len({here, *(place(tmp_path, other) for other in others)}) == 5


def test_users_have_places_of_their_own_where_the_policy_says_so(tmp_path: Path) -> None:
    own = POLICY.replace("{ttl: 1h,", "{ttl: 1h, scope: user,")
    assert place(tmp_path, row(user="a")) == place(tmp_path, row(user="b"))
    assert place(tmp_path, row(user="a"), own) != place(tmp_path, row(user="b"), own)


def test_what_cannot_be_cached_has_no_place(tmp_path: Path) -> None:
    assert place(tmp_path, row("\udc00")) is None
    assert place(tmp_path, row(), POLICY.replace("access:", "models: [other]\naccess:")) is None
    assert (
        place(
            tmp_path,
            row(),
            POLICY.replace("mode: semantic}", "mode: 'off'}").replace(
                "code: {mode: exact}", "code: {mode: 'off'}"
            ),
        )
        is None
    )
    assert asked_of(LogRow({"model": "m", "messages": []}, "log", 1), ACME) is None


def test_owners_become_principals_and_only_digests_of_them() -> None:
    one, none = asked_of(row(tenant="secret"), TenantId("t")), asked_of(row(), TenantId("t"))
    assert one is not None
    assert none is not None
    assert one.caller.principal != none.caller.principal == ""
    assert "secret" not in one.caller.principal
    assert exactly(one).directives.mode == "exact"


async def said(one: LogRow) -> tuple[int, dict[str, Any]]:
    generator = LoggedGenerator()
    generator.say(one)
    reply = await generator.open(CALL)
    return reply.status, orjson.loads(b"".join([piece async for piece in reply.body()]))


async def test_a_miss_gets_what_the_model_answered_then() -> None:
    status, body = await said(row(response="Forty-two.", usage=Usage(7, 3)))
    (choice,) = body["choices"]
    assert (status, choice["message"]["content"], choice["finish_reason"]) == (200, "Forty-two.", "stop")
    assert body["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


@pytest.mark.parametrize(
    ("one", "status", "content", "reason"),
    [
        (row(), 200, NO_ANSWER, "stop"),
        (row(failed=True), 500, NO_ANSWER, "stop"),
        (row(body={"tools": [{"type": "function"}]}), 200, None, "tool_calls"),
        (row(body={"tools": [{"type": "function"}]}, response="Said."), 200, "Said.", "stop"),
        (row(response="half \ud800"), 200, "half ?", "stop"),
    ],
)
async def test_answers_that_the_log_lacks(one: LogRow, status: int, content: str | None, reason: str) -> None:
    code, body = await said(one)
    (choice,) = body["choices"]
    assert (code, choice["message"]["content"], choice["finish_reason"]) == (status, content, reason)


def test_tokens_are_the_logs_or_guessed() -> None:
    assert usage_of(row(usage=Usage(5, 6))) == Usage(5, 6)
    guessed = usage_of(row("word " * 100, response="word " * 40))
    assert 100 < guessed.prompt_tokens < 200
    assert guessed.completion_tokens == 50
    assert usage_of(row()).completion_tokens == 0


def test_each_pair_is_drawn_as_likely_as_any_other() -> None:
    counts = [0] * 20
    for seed in range(2_000):
        drawn = Drawn(5, random.Random(seed))
        for number in range(20):
            drawn.offer(Answers(str(number), "", ""))
        assert len(drawn.kept) == 5
        assert drawn.seen == 20
        for kept in drawn.kept:
            counts[int(kept.question)] += 1
    # 500 each, of which the standard deviation is 19.
    assert all(400 < count < 600 for count in counts)


async def test_answers_too_long_to_compare_are_undecided() -> None:
    pairs = [
        Answers("q", "x" * 20_000, "x" * 20_000),
        Answers("How much?", "It costs 5 dollars.", "It costs 7 dollars."),
    ]
    assert await judged([*pairs, Answers("q", "Yes.", "yes")], None) == Compared(
        right=1, wrong=1, undecided=1, equal=1
    )
