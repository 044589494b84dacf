"""What has gone wrong in caches of this kind in the field, each case put to the running proxy.

Grouped by kind. Cases with a home of their own (restarts, tenants, faults, flights) are there.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import aiohttp
import pytest
import redis

from tests.e2e.running import Proxy, Reply
from tests.fakes.upstream_server import (
    UpstreamServer,
    chat_body,
    chat_chunks,
    chat_json,
    json_reply,
    sse_bytes,
    stream,
)

JSON = {"content-type": "application/json"}
KEPT_NOT = {"cache-control": "no-store"}
FAMILY = "👩‍👩‍👧‍👦"


def user(text: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def streamed(reply: Reply) -> list[dict[str, Any]]:
    lines = reply.body.decode().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def text_of(reply: Reply) -> str:
    """Join the text of a reply in either wire mode."""
    if not reply.headers["content-type"].startswith("text/event-stream"):
        return reply.text
    chunks = (choice for event in streamed(reply) for choice in event.get("choices", []))
    return "".join((choice["delta"] or {}).get("content") or "" for choice in chunks)


def looked(proxy: Proxy, question: str | list[Any], **fields: Any) -> str:
    """Look without leaving an answer behind."""
    return proxy.outcome(question, KEPT_NOT, **fields)


# -- streams are stored and replayed whole --------------------------------------------------

TEXT = f"Tea 茶 costs 3 €, {FAMILY} 🇳🇴 é\nand more."
PLAIN = sse_bytes(chat_chunks([TEXT[:9], TEXT[9:20], TEXT[20:]]))
ODD = [
    chat_chunks([])[0],
    {**chat_chunks([])[0], "choices": []},
    *chat_chunks([TEXT[:9]], usage=False, finish=None)[1:],
    {"object": "chat.completion.chunk", "usage": None},
    {**chat_chunks([])[0], "choices": [{"index": 0, "delta": {}, "finish_reason": None}]},
    {**chat_chunks([])[0], "choices": [{"index": 0, "delta": {"content": None}, "finish_reason": None}]},
    *chat_chunks([TEXT[9:]])[1:],
]
FRAMINGS = {
    "one write": stream(PLAIN),
    "byte by byte": stream(PLAIN, piece=1),
    "seven bytes at a time": stream(PLAIN, piece=7),
    "CRLF": stream(sse_bytes(chat_chunks([TEXT]), newline="\r\n"), piece=11),
    "comments and pings": stream(b": ping\n\n" + PLAIN.replace(b"\n\n", b"\n\n: ping\n\n", 2), piece=13),
    "no space after the colon": stream(PLAIN.replace(b"data: ", b"data:")),
    "events with names and ids": stream(PLAIN.replace(b"data: ", b"event: x\nid: 7\ndata: ")),
    "odd chunks between the texts": stream(sse_bytes(ODD), piece=50),
}


@pytest.mark.parametrize("framing", FRAMINGS)
def test_however_a_stream_is_cut_its_text_is_kept(
    proxy: Proxy, upstream: UpstreamServer, framing: str
) -> None:
    upstream.script = FRAMINGS[framing]
    first = proxy.chat("How is it framed?", stream=True)
    assert (first.status, first.headers["semcache-outcome"]) == (200, "miss")
    for streaming in (True, False):
        again = proxy.chat("How is it framed?", stream=streaming)
        if streaming or again.headers["semcache-outcome"] == "exact":
            assert (again.headers["semcache-outcome"], text_of(again)) == ("exact", TEXT)
            assert "\ufffd" not in again.body.decode()
    assert upstream.calls <= 2


def test_a_character_split_over_two_chunks_is_not_broken(proxy: Proxy, upstream: UpstreamServer) -> None:
    halves = sse_bytes(chat_chunks(["ok HIGH", "LOW done"]))
    halves = halves.replace(b"HIGH", b"\\ud83d").replace(b"LOW", b"\\ude00")
    upstream.script = [stream(halves), chat_json("whole")]
    first = proxy.chat("Which smiley?", stream=True)
    assert b"\\ud83d" in first.body, "the client gets what was sent"
    again = proxy.chat("Which smiley?", stream=True)
    assert text_of(again) in ("ok 😀 done", "whole")
    assert "\ufffd" not in again.body.decode()


def test_reasoning_is_replayed_with_the_answer(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = json_reply(chat_body("Four.", message={"reasoning_content": "Two and two."}))
    proxy.chat("Two and two?")
    whole = proxy.chat("Two and two?").json()["choices"][0]["message"]
    assert (whole["content"], whole["reasoning_content"]) == ("Four.", "Two and two.")
    again = proxy.chat("Two and two?", stream=True)
    deltas = [choice["delta"] for event in streamed(again) for choice in event["choices"]]
    assert "".join(delta.get("reasoning_content") or "" for delta in deltas) == "Two and two."
    assert again.headers["semcache-outcome"] == "exact"


def test_each_replay_has_an_identity_of_its_own(proxy: Proxy) -> None:
    replies = [proxy.chat("Who are you?") for _ in range(3)]
    assert len({reply.json()["id"] for reply in replies}) == 3
    assert len({reply.headers["x-request-id"] for reply in replies}) == 3
    events = streamed(proxy.chat("Who are you?", stream=True))
    assert len({(event["id"], event["created"]) for event in events}) == 1


def test_a_long_replay_comes_in_pieces_of_whole_characters(proxy: Proxy, upstream: UpstreamServer) -> None:
    text = f"{FAMILY}é🇳🇴 " * 300
    upstream.script = chat_json(text)
    proxy.chat("Something long?")
    reply = proxy.chat("Something long?", stream=True)
    pieces = [choice["delta"].get("content") for event in streamed(reply) for choice in event["choices"]]
    assert text_of(reply) == text
    assert len(pieces) > 5
    assert not any(piece.startswith(("\u200d", "\u0301")) for piece in pieces if piece)


def test_usage_on_a_streamed_hit_keeps_its_details(proxy: Proxy) -> None:
    asked = {"stream": True, "stream_options": {"include_usage": True}}
    proxy.chat("What did it cost?")
    events = streamed(proxy.chat("What did it cost?", **asked))
    assert events[-1]["choices"] == []
    assert events[-1]["usage"]["semcache_saved"]["prompt_tokens_details"]["cached_tokens"] == 4
    assert not any(event.get("usage") for event in events[:-1])
    assert not any(event.get("usage") for event in streamed(proxy.chat("What did it cost?", stream=True)))


# -- another context, another answer --------------------------------------------------------

SCHEMA = {"type": "json_schema", "json_schema": {"name": "c", "schema": {"properties": {"colours": {}}}}}
SCHEMA_2 = {"type": "json_schema", "json_schema": {"name": "c", "schema": {"properties": {"colors": {}}}}}
FITTING = '{"colours": ["red", "blue"]}'
"""What has another form than a schema is not stored."""
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
DIFFERENT = {
    "a schema": ({}, {"response_format": SCHEMA}),
    "a field of a schema": ({"response_format": SCHEMA}, {"response_format": SCHEMA_2}),
    "the length": ({"max_tokens": 20}, {"max_tokens": 500}),
    "how many": ({"n": 1}, {"n": 3}),
    "where to stop": ({"stop": ["."]}, {}),
    "log probabilities": ({"logprobs": False}, {"logprobs": True}),
    "a field of some vendor's": ({"top_k": 5}, {"top_k": 50}),
    "the seed": ({"seed": 1}, {"seed": 2}),
    "the model": ({"model": "m-1"}, {"model": "m-2"}),
    "effort": ({"reasoning_effort": "low"}, {"reasoning_effort": "high"}),
    "tools": ({"tools": [TOOL]}, {"tools": [TOOL, {**TOOL, "function": {"name": "other"}}]}),
    "tools forbidden": ({"tools": [TOOL]}, {"tools": [TOOL], "tool_choice": "none"}),
    "order of stops": ({"stop": ["a", "b"]}, {"stop": ["b", "a"]}),
    "true and 1": ({"flag": True}, {"flag": 1}),
}
SAME = {
    "who asks": ({"user": "ann"}, {"user": "bob"}),
    "metadata": ({"metadata": {"a": "1"}}, {}),
    "streaming": ({"stream": True}, {}),
    "service tier": ({"service_tier": "flex"}, {}),
    "cache hints": ({"prompt_cache_key": "x"}, {"prompt_cache_key": "y"}),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_an_answer_made_otherwise_is_not_served(proxy: Proxy, upstream: UpstreamServer, what: str) -> None:
    one, other = DIFFERENT[what]
    upstream.script = chat_json(FITTING if "response_format" in one else "made for the first")
    proxy.chat("Name two colours.", **one)
    assert looked(proxy, "Name two colours.", **one) == "exact"
    assert looked(proxy, "Name two colours.", **other) == "miss"
    assert looked(proxy, "Please name two colours.", **other) == "miss"


@pytest.mark.parametrize("what", SAME)
def test_what_cannot_change_an_answer_does_not_count(proxy: Proxy, what: str) -> None:
    one, other = SAME[what]
    proxy.chat("Name two colours.", **one)
    assert looked(proxy, "Name two colours.", **other) == "exact"


def picture(url: str) -> list[dict[str, Any]]:
    return user(
        [
            {"type": "text", "text": "What is in the picture?"},
            {"type": "image_url", "image_url": {"url": url}},
        ]
    )


def test_pictures_count_in_full(proxy: Proxy, upstream: UpstreamServer) -> None:
    urls = (
        "data:image/png;base64,AAAA",
        "data:image/png;base64,AAAB",
        "http://x/a/p.png",
        "http://x/b/p.png",
    )
    assert [proxy.outcome(picture(url)) for url in urls] == ["miss"] * 4
    assert [proxy.outcome(picture(url)) for url in urls] == ["exact"] * 4
    assert proxy.outcome("What is in the picture?") == "miss"
    assert upstream.calls == 5


def test_text_as_parts_equals_text_as_a_string(proxy: Proxy, upstream: UpstreamServer) -> None:
    assert proxy.outcome(user([{"type": "text", "text": "Hello there"}])) == "miss"
    assert proxy.outcome("Hello there") == "exact"
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    turns = [{"role": "assistant", "content": None, "tool_calls": calls}]
    result = [{"role": "tool", "tool_call_id": "c", "content": "42"}]
    upstream.script = chat_json("42.")
    assert proxy.outcome([*user("Go"), *turns, *result]) == "miss"
    assert proxy.outcome([*user("Go"), *turns, *result]) == "exact"


def test_the_language_of_the_caller_counts(proxy: Proxy) -> None:
    proxy.chat("taxi?", {"accept-language": "it-IT,it;q=0.9"})
    assert proxy.outcome("taxi?", {**KEPT_NOT, "accept-language": "it"}) == "exact"
    assert proxy.outcome("taxi?", {**KEPT_NOT, "accept-language": "en-GB"}) == "miss"


@pytest.mark.parametrize(("path", "field"), [("/v1/completions", "prompt"), ("/v1/responses", "input")])
def test_bodies_of_other_endpoints_never_share(
    proxy: Proxy, upstream: UpstreamServer, path: str, field: str
) -> None:
    upstream.script = json_reply({"ok": True})
    for asked in ("A", "B", "A", "B"):
        body = {"model": "m", field: asked, "instructions": asked}
        reply = proxy.request("POST", path, json.dumps(body).encode(), JSON)
        assert "fwd=" in reply.headers["cache-status"]
    assert upstream.calls == 4


@pytest.mark.parametrize("field", ["previous_response_id", "conversation"])
def test_what_depends_on_state_elsewhere_is_left_alone(proxy: Proxy, field: str) -> None:
    assert [proxy.outcome("And then?", **{field: "x"}) for _ in range(2)] == ["bypass"] * 2


# -- near in words, other in meaning --------------------------------------------------------

OPPOSED = [
    ("How do I switch roaming on before I travel?", "How do I switch roaming off before I travel?"),
    ("Are guests admitted to the lab after 18:00?", "Are guests turned away from the lab after 18:00?"),
    ("Which ports are open by default?", "Which ports are closed by default?"),
    ("Is breakfast included in the price?", "Is breakfast excluded from the price?"),
    ("Can a tenant sue the landlord?", "Can a landlord sue the tenant?"),
    ("How do I convert miles to kilometres?", "How do I convert kilometres to miles?"),
    ("What is a kettle?", "What is a savings account?"),
    ("Explain what a kettle is for.", "Explain what a savings account is for."),
    ("What is the deadline for 2023?", "What is the deadline for 2024?"),
    ("Refund order 1001", "Refund order 1002"),
    ("Is it allowed to smoke on the balcony?", "Is it forbidden to smoke on the balcony?"),
    ("What should I do before the operation?", "What should I do after the operation?"),
    ("今天的汇率是多少?", "昨天的汇率是多少?"),
    ("可以在阳台抽烟吗?", "不可以在阳台抽烟吗?"),
    ("新冠疫苗", "房屋贷款"),
    ("🙂🙂🙂", "🔥🔥🔥"),
    ("ร้านอาหารเปิดกี่โมง", "รถไฟเที่ยวแรกออกกี่โมง"),
]


@pytest.mark.parametrize(("stored", "asked"), OPPOSED)
def test_the_opposite_question_is_not_answered(proxy: Proxy, stored: str, asked: str) -> None:
    proxy.chat(stored)
    assert looked(proxy, asked) == "miss"
    assert looked(proxy, stored) == "exact"


def test_a_refused_candidate_does_not_end_the_search(proxy: Proxy) -> None:
    proxy.chat("How do I switch roaming on before I travel?")
    proxy.chat("How do I switch roaming off before I travel?")
    reply = proxy.chat("How can I switch roaming off before I travel?", KEPT_NOT)
    assert reply.headers["semcache-outcome"] == "semantic"
    assert "roaming off" in reply.text


def test_answers_stay_with_their_questions_in_a_second_round(proxy: Proxy) -> None:
    questions = ("What is a kettle?", "Explain what a kettle is for.", "What is a savings account for?")
    first = [proxy.chat(question).text for question in questions]
    assert [proxy.chat(question).text for question in questions] == first


def test_small_slips_never_lead_to_another_word(proxy: Proxy) -> None:
    proxy.chat("What is a mortgage?")
    assert proxy.chat("What is a mortage?", KEPT_NOT).text.endswith(("mortgage?", "mortage?"))
    proxy.chat("Who speaks Polish here?")
    assert looked(proxy, "Who can polish here?") == "miss"


def test_another_program_is_not_the_same_program(proxy: Proxy) -> None:
    coder = [{"role": "system", "content": "You are a coding assistant."}]
    proxy.chat([*coder, *user("Write a function that sorts a list.")])
    for other in ("in descending order", "of strings by length", "without using extra memory"):
        assert looked(proxy, [*coder, *user(f"Write a function that sorts a list {other}.")]) == "miss"


# -- equal, and found -----------------------------------------------------------------------


def test_the_order_of_keys_does_not_count(proxy: Proxy, upstream: UpstreamServer) -> None:
    upstream.script = chat_json(FITTING)
    fields = {"tools": [TOOL], "response_format": SCHEMA, "metadata": {"b": "1", "a": "2"}, "top_p": 1}
    assert proxy.outcome("In what order?", **fields) == "miss"
    body = {"model": "m", "messages": user("In what order?"), **fields}

    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(item) for item in value] if isinstance(value, list) else value

    sent = json.dumps(turned(body), indent=3).encode()
    reply = proxy.request(
        "POST", "/v1/chat/completions", sent, {**JSON, "semcache-namespace": proxy.namespace}
    )
    assert reply.headers["semcache-outcome"] == "exact"
    assert upstream.calls == 1


FORMS = {
    "blanks": ("What is DNS?", " What is  DNS? "),
    "a last newline": ("What is DNS?", "What is DNS?\r\n"),
    "composed accents": ("Where is a caf\u00e9?", "Where is a cafe\u0301?"),
}
OTHER_FORMS = {
    "indentation of code": ("```\nif x:\n    y()\nz()\n```", "```\nif x:\n    y()\n    z()\n```"),
    "letter case": ("What does Polish mean?", "What does polish mean?"),
    "emoji": (f"Draw {FAMILY}", "Draw 👩‍👩‍👦"),
    "accents": ("Wie schreibt man Grüße?", "Wie schreibt man Grusse?"),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_one_text_are_one_question(proxy: Proxy, form: str) -> None:
    stored, asked = FORMS[form]
    proxy.chat(stored)
    assert looked(proxy, asked) == "exact"


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_forms_that_differ_in_meaning_are_not_equal(proxy: Proxy, form: str) -> None:
    stored, asked = OTHER_FORMS[form]
    proxy.chat(stored)
    assert looked(proxy, asked) != "exact"


SUBJECTS = ["password", "email address", "delivery address", "phone number", "billing plan", "language"]


def test_everything_stored_is_found_again(proxy: Proxy) -> None:
    stored = {subject: proxy.chat(f"How do I change my {subject}?").text for subject in SUBJECTS}
    for subject, text in stored.items():
        assert proxy.chat(f"How do I change my {subject}?").text == text
        reply = proxy.chat(f"How can I change my {subject}?", KEPT_NOT)
        assert (reply.headers["semcache-outcome"], reply.text) == ("semantic", text)


def test_a_stream_leaves_nothing_half_made_behind(proxy: Proxy, upstream: UpstreamServer) -> None:
    proxy.chat("Streamed first?", stream=True)
    assert [proxy.outcome("Streamed first?", stream=turn % 2 == 0) for turn in range(5)] == ["exact"] * 5
    assert upstream.calls == 1


def test_every_way_of_asking_decides_alike(proxy: Proxy) -> None:
    proxy.chat("How do I rename a file?")
    for asked in ("How can I rename a file?", "How do I delete a file?"):
        outcomes = {looked(proxy, asked, stream=streaming) for streaming in (True, False)}
        body = json.dumps({"model": "m", "messages": user(asked)}).encode()
        told = proxy.request(
            "POST", "/semcache/explain", body, {**JSON, "semcache-namespace": proxy.namespace}
        ).json()
        assert outcomes == {"semantic" if told["decision"] == "hit" else "miss"}


# -- lives ----------------------------------------------------------------------------------


def left(reply: Reply) -> int:
    return int(reply.headers["cache-status"].partition("ttl=")[2].partition(";")[0])


@pytest.mark.parametrize(
    "question",
    ["What day is it today?", "What is the latest release of X?", "现在几点了?", "Current gold price?"],
)
def test_questions_about_now_live_briefly(proxy: Proxy, question: str) -> None:
    proxy.chat(question)
    assert left(proxy.chat(question)) <= 300


def test_max_age_is_in_seconds(proxy: Proxy) -> None:
    proxy.chat("How old am I?")
    time.sleep(2.0)
    assert proxy.outcome("How old am I?", {"cache-control": "no-store, max-age=59"}) == "exact"
    assert proxy.outcome("How old am I?", {"cache-control": "no-store, max-age=1"}) == "miss"


def test_everything_in_the_store_has_an_end(proxy: Proxy) -> None:
    proxy.chat("Do I end?", {"semcache-tags": "t"})
    proxy.chat("Do I end as a stream?", stream=True)
    proxy.chat("Do I end?", {"cache-control": "no-cache"})
    store = redis.Redis(unix_socket_path=str(proxy.data / "valkey" / "s"))
    try:
        lives = {key.decode(errors="replace"): store.ttl(key) for key in store.scan_iter(count=1000)}
    finally:
        store.close()
    held = {key for key in lives if "Do I end" in key}
    assert not held, "no prompt text in key names"
    endless = {key for key, life in lives.items() if life == -1}
    assert len(endless) <= 12, f"only bookkeeping may live for ever: {sorted(endless)[:20]}"


def test_the_dead_do_not_stand_in_the_way_of_the_living(proxy: Proxy, upstream: UpstreamServer) -> None:
    fresh = {"cache-control": "no-cache"}
    kept = proxy.chat("How do I reset my password?", fresh)
    for number in range(20):
        proxy.chat(f"How can I reset my password?{'!' * number}", {**fresh, "semcache-ttl": "1"})
    proxy.wait_until(lambda: looked(proxy, "How can I reset my password?!!") == "exact")
    time.sleep(1.2)
    reply = proxy.chat("How can I reset my password?", KEPT_NOT)
    assert (reply.headers["semcache-outcome"], reply.text) == ("semantic", kept.text)


# -- bad answers ----------------------------------------------------------------------------

BAD = {
    "a stream that begins with an error": stream(sse_bytes([{"error": {"message": "no"}}])),
    "a stream with an error inside": stream(
        sse_bytes([*chat_chunks(["half"], usage=False, finish=None), {"error": {"message": "no"}}])
    ),
    "a stream that ends by length": stream(sse_bytes(chat_chunks(["half"], finish="length"))),
    "a stream without words": stream(sse_bytes(chat_chunks([]))),
    "a stream of blanks": stream(sse_bytes(chat_chunks([" ", "\n"]))),
    "a page": stream(b"<html>busy</html>", headers=[("content-type", "text/html")]),
    "no answer object": json_reply({"object": "list", "data": []}),
    "no choices": json_reply({**chat_body("x"), "choices": []}),
    "a tool call in a domain that keeps none": json_reply(
        chat_body(
            None,
            message={
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
            },
            finish_reason="tool_calls",
        )
    ),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_answer_is_passed_on_and_not_kept(proxy: Proxy, upstream: UpstreamServer, bad: str) -> None:
    upstream.script = [BAD[bad], chat_json("good")]
    streaming = "stream" in bad
    first = proxy.chat("Is it good?", stream=streaming)
    assert first.status == 200
    assert "stored" not in first.headers["cache-status"]
    second = proxy.chat("Is it good?")
    assert (second.headers["semcache-outcome"], second.text) == ("miss", "good")
    assert proxy.chat("Is it good?").text == "good"


@pytest.mark.parametrize("streaming", [False, True])
def test_what_an_answer_cost_is_counted_though_it_is_not_kept(
    proxy: Proxy, upstream: UpstreamServer, streaming: bool
) -> None:
    upstream.script = (
        stream(sse_bytes(chat_chunks(["half"], finish="length")))
        if streaming
        else json_reply(chat_body("half", finish_reason="length"))
    )
    proxy.chat("What did half an answer cost?", stream=streaming)
    usage = proxy.records()[-1]["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (12, 5)


def test_our_own_errors_are_never_answers(proxy: Proxy, upstream: UpstreamServer) -> None:
    from tests.fakes.upstream_server import reset

    upstream.script = reset()
    assert [proxy.chat("Is anybody there?").status for _ in range(2)] == [502, 502]
    upstream.script = chat_json("yes")
    proxy.wait_until(lambda: proxy.chat("Is anybody there?").status == 200, 10)
    assert proxy.chat("Is anybody there?").text == "yes"


# -- many at once ---------------------------------------------------------------------------


async def test_cancelled_requests_leave_no_reply_for_others(proxy: Proxy, upstream: UpstreamServer) -> None:
    url, own = f"{proxy.url}/v1/chat/completions", {"semcache-namespace": proxy.namespace}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(number: int, patience: float = 30.0) -> str:
            body = {"model": "m", "messages": user(f"What is number {number}?")}
            async with asyncio.timeout(patience), session.post(url, json=body, headers=own) as reply:
                return str((await reply.json())["choices"][0]["message"]["content"])

        wanted = [await ask(number) for number in range(40)]
        hasty = [ask(number % 40, 0.001 * (number % 7)) for number in range(200)]
        got = await asyncio.gather(*hasty, *(ask(number) for number in range(40)), return_exceptions=True)
    assert got[200:] == wanted
    assert wanted == [f"Answer to: What is number {number}?" for number in range(40)]
    assert all(text == wanted[at % 40] for at, text in enumerate(got[:200]) if isinstance(text, str))


async def test_long_and_short_texts_at_once_all_get_answers(proxy: Proxy) -> None:
    url, own = f"{proxy.url}/v1/chat/completions", {"semcache-namespace": proxy.namespace}
    proxy.chat("Something in the namespace.")
    slowest = 0.0
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(number: int) -> int:
            text = f"Number {number}: " + "a long story about many things " * (number % 16) * 20
            async with session.post(url, json={"model": "m", "messages": user(text)}, headers=own) as reply:
                await reply.read()
                return reply.status

        async def heartbeat() -> None:
            nonlocal slowest
            while True:
                began = time.monotonic()
                async with session.get(f"{proxy.url}/livez") as reply:
                    await reply.read()
                slowest = max(slowest, time.monotonic() - began)
                await asyncio.sleep(0.005)

        beating = asyncio.ensure_future(heartbeat())
        statuses = await asyncio.gather(*(ask(number) for number in range(64)))
        beating.cancel()
    assert set(statuses) == {200}
    assert slowest < 1.0, "embedding must not hold the loop"
