"""The table of tiers through a running proxy: what a row closes is never served by meaning, a plain request beside it is."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from semcache.dialects.closing import FEATURES
from tests.e2e.conftest import answering
from tests.e2e.running import Proxy, running
from tests.e2e.tenants import ALPHA, bearer, policy
from tests.fakes.upstream_server import (
    ByRequest,
    Seen,
    UpstreamServer,
    chat_body,
    chat_json,
    in_thread,
    json_reply,
)

STORED, ASKED = "How do I reset my password?", "How can I reset my password?"
DOMAINS = """\
  own: {scope: user}
  tools: {tools: "off"}
  cold: {sampling: {allow_unset: false}}
  short: {max_user_turns: 1}
  moment: {volatile_ttl: 1s}
  equal: {mode: exact}
  none: {mode: "off"}
"""
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
PICTURE = {"type": "image_url", "image_url": {"url": "https://a.example/a.png"}}
FILE = {"type": "file", "file": {"file_id": "file-1"}}


def user(content: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content}]


def beside(text: str, *parts: dict[str, Any]) -> list[dict[str, Any]]:
    return user([{"type": "text", "text": text}, *parts])


def after(text: str, *before: dict[str, Any]) -> list[dict[str, Any]]:
    return [*before, *user(text)]


@dataclass(frozen=True)
class Case:
    """A row.

    `wrap` and `fields` give the messages and fields with the feature for a question, `domain` where that is a policy's; `again` is the outcome of the
    very same request asked twice. The plain pair is asked without all of that.
    """

    name: str
    again: str
    fields: dict[str, Any] = field(default_factory=dict)
    wrap: Any = user
    domain: str = "chat"
    headers: dict[str, str] = field(default_factory=dict)
    stored: str = STORED
    asked: str = ASKED
    plain: tuple[str, str] = (STORED, ASKED)
    writes_only: bool = False
    """It keeps answers out, and closes nothing that is in."""


SPOKEN = {"role": "assistant", "audio": {"id": "audio_1"}}
HISTORY = [*user("Which plans are there?"), {"role": "assistant", "content": "Basic and Pro."}]
CASES = [
    Case("stateful", "bypass", {"previous_response_id": "r"}),
    Case("audio-id", "bypass", wrap=lambda text: after(text, *user("Hello"), SPOKEN)),
    Case("file-id", "bypass", wrap=lambda text: beside(text, FILE)),
    Case("tools", "exact", {"tools": [TOOL]}),
    Case("tools", "bypass", {"tools": [TOOL]}, domain="tools"),
    Case("web-search", "exact", {"web_search_options": {}, "search_parameters": {"mode": "on"}}),
    Case("n", "exact", {"n": 2}),
    Case("seed", "exact", {"seed": 7}),
    Case("logprobs", "exact", {"logprobs": True}),
    Case("prediction", "exact", {"prediction": {"type": "content", "content": "x"}}),
    Case("audio", "exact", {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "mp3"}}),
    Case("media", "exact", wrap=lambda text: beside(text, PICTURE)),
    Case(
        "not-user-text", "exact", wrap=lambda text: [*user(text), {"role": "assistant", "content": "Go to"}]
    ),
    Case("temperature", "bypass", {"temperature": 0.9}),
    Case("default-temperature", "bypass", {"temperature": None}, domain="cold"),
    Case("policy-off", "bypass", domain="none"),
    Case("asked-off", "bypass", headers={"semcache-mode": "off"}),
    Case("no-cache-no-store", "bypass", headers={"cache-control": "no-cache, no-store"}),
    Case("no-cache", "miss", headers={"cache-control": "no-cache"}),
    Case("no-store", "miss", headers={"cache-control": "no-store"}, writes_only=True),
    Case("no-lifetime", "miss", headers={"semcache-ttl": "0"}, writes_only=True),
    Case("exact-only by policy", "exact", domain="equal"),
    Case("exact-only by client", "exact", headers={"semcache-mode": "exact"}),
    Case("long-conversation", "exact", wrap=lambda text: after(text, *HISTORY), domain="short"),
    Case(
        "personal: after ones own",
        "miss",
        stored="Where is my order?",
        asked="Where's my order?",
        plain=("How do I cancel my order?", "How can I cancel my order?"),
    ),
    Case(
        "personal: tells who asks",
        "exact",
        stored="My name is Anna Weber. How do I reset my password?",
        asked="My name is Anna Weber. How can I reset my password?",
    ),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[UpstreamServer]:
    with in_thread(ByRequest(answering)) as server:
        yield server


@pytest.fixture(scope="module")
def proxy(upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("tiers")
    (folder / "policies").mkdir()
    (folder / "policies" / "alpha.yaml").write_text(policy("alpha", ALPHA, domains=DOMAINS), encoding="utf-8")
    arguments = ("--upstream", upstream.url, "--policies", str(folder / "policies"))
    with running(folder / "data", *arguments) as started:
        yield started


def ask(proxy: Proxy, messages: list[dict[str, Any]], case: Case | None, mark: str) -> str:
    """Ask with what a case names, or plainly; `mark` keeps the two apart."""
    own = case.headers if case is not None else {}
    domain = {"semcache-domain": case.domain} if case is not None else {}
    named = {"semcache-namespace": f"{proxy.namespace}{mark}"[-200:]}
    fields = {"temperature": 0, **(case.fields if case is not None else {})}
    return proxy.outcome(messages, {**bearer(ALPHA), **named, **domain, **own}, **fields)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.domain}")
def test_a_row_closes_the_semantic_tier_and_a_plain_request_is_served(proxy: Proxy, case: Case) -> None:
    first = "bypass" if case.again == "bypass" else "miss"
    assert ask(proxy, case.wrap(case.stored), case, "closed") == first
    assert ask(proxy, case.wrap(case.stored), case, "closed") == case.again
    assert ask(proxy, case.wrap(case.asked), case, "closed") == first
    stored, asked = case.plain
    assert ask(proxy, user(stored), None, "plain") == "miss"
    assert ask(proxy, user(asked), None, "plain") == "semantic"
    # Nor is what a plain request left behind served to one with the feature.
    assert case.writes_only or ask(proxy, case.wrap(case.asked), case, "plain") != "semantic"


def test_every_feature_of_chat_has_its_case() -> None:
    seen = {row.name for row in FEATURES if row.holds is not FEATURES_WITHOUT_CHAT}
    assert seen - {case.name for case in CASES} == {"empty-text"}


FEATURES_WITHOUT_CHAT = next(row.holds for row in FEATURES if row.name == "embedding")


@pytest.mark.parametrize(
    ("fields", "decision", "feature"),
    [
        ({"n": 2}, "miss", "n"),
        ({"previous_response_id": "r"}, "bypass", "stateful"),
        ({}, "miss", None),
    ],
)
def test_explain_names_the_row(
    proxy: Proxy, fields: dict[str, Any], decision: str, feature: str | None
) -> None:
    body = json.dumps({"model": "m", "messages": user(STORED), "temperature": 0, **fields}).encode()
    sent = {**bearer(ALPHA), "content-type": "application/json", "semcache-namespace": proxy.namespace[-200:]}
    told = proxy.request("POST", "/semcache/explain", body, sent).json()
    reason = {"n": "exact-only", "stateful": "uncacheable", None: "empty-namespace"}[feature]
    assert (told["decision"], told["closed_by"]) == (decision, feature)
    assert told["reason"].endswith(reason)


def test_what_is_of_the_moment_is_served_for_a_moment(proxy: Proxy) -> None:
    def of(text: str) -> str:
        named = {"semcache-namespace": proxy.namespace[-200:], "semcache-domain": "moment"}
        return proxy.outcome(text, {**bearer(ALPHA), **named}, temperature=0)

    assert of("What is the latest version of Python?") == "miss"
    assert of("What's the latest version of Python?") == "semantic"
    assert of(STORED) == "miss"
    time.sleep(1.1)
    assert of("What's the latest version of Python?") == "miss"
    assert of(ASKED) == "semantic"


def test_users_share_nothing_where_a_policy_keeps_them_apart(proxy: Proxy) -> None:
    """The plain side of questions after one's own: with a scope of users each has theirs by meaning."""

    def of(name: str, text: str) -> str:
        named = {
            "semcache-namespace": proxy.namespace[-200:],
            "semcache-domain": "own",
            "semcache-user": name,
        }
        return proxy.outcome(text, {**bearer(ALPHA), **named}, temperature=0)

    assert of("ann", "Where is my order?") == "miss"
    assert of("ann", "Where's my order?") == "semantic"
    assert of("ben", "Where is my order?") == "miss"


def test_answers_that_are_not_kept(proxy: Proxy, upstream: UpstreamServer) -> None:
    """Calls of tools, another form than was demanded, a fact of one person's own; each beside a plain one that is kept."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    json_form = {"response_format": {"type": "json_object"}}
    cases: list[tuple[str, dict[str, Any], Any, Any]] = [
        (
            "tools",
            {},
            json_reply(chat_body(None, message={"tool_calls": [call]}, finish_reason="tool_calls")),
            chat_json("Paris."),
        ),
        ("form", json_form, chat_json("It is Paris."), chat_json('{"city": "Paris"}')),
        ("own", {}, chat_json("Your balance is $120.50."), chat_json("Your balance is under Accounts.")),
    ]
    for mark, fields, refused, kept in cases:
        for reply, outcome in ((refused, "miss"), (kept, "semantic")):

            def script(seen: Seen, reply: Any = reply) -> Any:
                return reply if seen.body else answering(seen)

            upstream.script = ByRequest(script)
            named = {"semcache-namespace": f"{proxy.namespace}{mark}{outcome}"[-200:]}
            assert proxy.outcome(STORED, {**bearer(ALPHA), **named}, temperature=0, **fields) == "miss"
            found = proxy.outcome(ASKED, {**bearer(ALPHA), **named}, temperature=0, **fields)
            assert found == outcome, mark
