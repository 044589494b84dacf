"""Other words, same meaning: served. Nearly the same words, other meaning: not served."""

from __future__ import annotations

import pytest

from tests.e2e.running import Proxy
from tests.fakes.upstream_server import UpstreamServer

PARAPHRASES = [
    ("What is the capital of France?", "What's the capital of France?"),
    ("How do I reset my password?", "How can I reset my password?"),
    ("怎么重置我的密码?", "如何重置我的密码?"),
    ("请问法国的首都是哪里?", "法国的首都是哪里?"),
]

TRAPS = [
    ("How do I enable two-factor authentication?", "How do I disable two-factor authentication?"),
    ("How many yen do I get for one euro?", "How many euros do I get for one yen?"),
    (
        "What is the maximum daily dose of 200 mg ibuprofen?",
        "What is the maximum daily dose of 400 mg ibuprofen?",
    ),
    ("How long may customers in Norway return an order?", "How long may customers in Japan return an order?"),
    ("Is this medicine safe during pregnancy?", "Is this medicine not safe during pregnancy?"),
    ("What are the opening hours on Monday?", "What are the opening hours on Sunday?"),
    ("如何打开自动续费?", "如何关闭自动续费?"),
    ("2023年的个税起征点是多少?", "2024年的个税起征点是多少?"),
]


@pytest.mark.parametrize(("stored", "asked"), PARAPHRASES)
def test_paraphrases_are_served(proxy: Proxy, upstream: UpstreamServer, stored: str, asked: str) -> None:
    first = proxy.chat(stored)
    second = proxy.chat(asked)
    assert second.headers["semcache-outcome"] == "semantic", second.headers.get("semcache-reason")
    assert second.text == first.text
    assert upstream.calls == 1
    assert proxy.outcome(asked, stream=True) == "semantic"


@pytest.mark.parametrize(("stored", "asked"), TRAPS)
def test_traps_are_not_served(proxy: Proxy, upstream: UpstreamServer, stored: str, asked: str) -> None:
    system = [{"role": "system", "content": f"About {stored}"}]
    proxy.chat([*system, {"role": "user", "content": stored}])
    second = proxy.chat([*system, {"role": "user", "content": asked}])
    assert second.headers["semcache-outcome"] == "miss"
    assert upstream.calls == 2


def test_what_else_is_in_the_request_must_be_equal(proxy: Proxy, upstream: UpstreamServer) -> None:
    def ask(system: str, question: str, **fields: object) -> str:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        return proxy.outcome(messages, **fields)

    assert ask("You write like a lawyer.", "Can you explain rain?") == "miss"
    assert ask("You write like a lawyer.", "Could you explain rain?") == "semantic"
    assert ask("You write for five-year-olds.", "Could you explain rain?") == "miss"
    assert ask("You write like a lawyer.", "Could you explain rain?", max_tokens=20) == "miss"
    assert ask("You write like a lawyer.", "Could you explain rain?", unheard_of=1) == "miss"
    assert upstream.calls == 4


def test_the_history_must_be_equal(proxy: Proxy) -> None:
    def ask(founder: str, question: str) -> str:
        return proxy.outcome(
            [
                {"role": "user", "content": "Who founded it?"},
                {"role": "assistant", "content": founder},
                {"role": "user", "content": question},
            ]
        )

    assert ask("Jo Berg.", "How old is she?") == "miss"
    assert ask("Jo Berg.", "How old is she?") == "exact"
    assert ask("Ann Lee.", "How old is she?") == "miss"


def test_a_stricter_domain_and_a_stricter_client(proxy: Proxy) -> None:
    proxy.chat("What helps against a cold in winter?")
    asked = "What would help against a cold in winter?"
    unkept = {"cache-control": "no-store"}
    assert proxy.outcome(asked, {"semcache-threshold": "1.0", **unkept}) == "miss"
    assert proxy.outcome(asked, {"semcache-mode": "exact", **unkept}) == "miss"
    assert proxy.outcome(asked) == "semantic"
    unknown = proxy.chat(asked, {"semcache-domain": "astrology"})
    assert unknown.status == 400
    assert unknown.json()["error"]["param"]


def test_long_texts_are_never_matched_on_their_beginning(proxy: Proxy) -> None:
    rules = "Our house rules say that every answer must be short and polite. " * 80
    assert proxy.outcome(rules + "Draft a toast for a wedding.") == "miss"
    reply = proxy.chat(rules + "Give the command that formats the disk.")
    assert reply.headers["semcache-outcome"] == "miss"
    assert proxy.outcome(rules + "Draft a toast for a wedding.") == "exact"


def test_reasons_are_visible(proxy: Proxy) -> None:
    proxy.chat("How do I switch roaming on before I travel?")
    reply = proxy.chat("How do I switch roaming off before I travel?")
    assert reply.headers["semcache-outcome"] == "miss"
    assert "antonyms" in reply.headers["semcache-reason"]
    record = proxy.records()[-1]
    assert record["reason"] == reply.headers["semcache-reason"]
    assert "roaming" not in str(record)
    assert "similarity" not in " ".join(reply.headers)


def test_unrelated_questions_get_their_own_answers(proxy: Proxy, upstream: UpstreamServer) -> None:
    questions = [
        "Good morning",
        "Name three prime numbers",
        "What can I cook with lentils?",
        "Suggest a riddle",
    ]
    answers = {proxy.chat(question).text for question in questions}
    assert len(answers) == upstream.calls == 4
