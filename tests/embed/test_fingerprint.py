"""Identity by exclusion: what separates two requests, and what must not."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import TenantId
from semcache.dialects.chat.request import parse_chat
from semcache.embed.fingerprint import IRRELEVANT_FIELDS, Partition, exact_key, namespace_of

BODY: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Who founded Acme?"},
        {"role": "assistant", "content": "Jo Berg."},
        {"role": "user", "content": "How old is she?"},
    ],
    "temperature": 0,
}
HERE = Partition(TenantId("acme"), "tenant", "", "", "local")


def keys(body: dict[str, Any], partition: Partition = HERE) -> tuple[str, str]:
    request = parse_chat(body, "/v1/chat/completions")
    namespace = namespace_of(request, partition)
    return namespace.digest, exact_key(namespace, request)


def changed(**fields: Any) -> dict[str, Any]:
    return {**copy.deepcopy(BODY), **fields}


def with_message(position: int, **fields: Any) -> dict[str, Any]:
    body = copy.deepcopy(BODY)
    body["messages"][position].update(fields)
    return body


@pytest.mark.parametrize(
    "body",
    [
        changed(model="other"),
        changed(temperature=0.5),
        changed(max_tokens=20),
        changed(stop=["."]),
        changed(response_format={"type": "json_object"}),
        changed(top_k=5),
        changed(unheard_of={"a": 1}),
        changed(tools=[{"type": "function", "function": {"name": "f"}}]),
        changed(n=3),
        changed(logprobs=True),
        with_message(0, content="Write for children."),
        with_message(1, content="Who founded Zenith?"),
        with_message(2, content="Ann Lee."),
        with_message(0, name="x"),
        with_message(1, content=[{"type": "image_url", "image_url": {"url": "https://a/x.png"}}]),
    ],
)
def test_these_are_other_namespaces(body: dict[str, Any]) -> None:
    assert keys(body)[0] != keys(BODY)[0]


@pytest.mark.parametrize(
    "body",
    [
        changed(stream=True, stream_options={"include_usage": True}),
        changed(user="u", metadata={"a": "b"}, store=True, service_tier="flex", safety_identifier="s"),
        changed(prompt_cache_key="k", prompt_cache_retention="24h"),
        changed(temperature=0.0),
        changed(n=1),
        changed(seed=None, stop=None),
        with_message(0, content="Be  brief. "),
        with_message(3, content=[{"type": "text", "text": "How old is she?"}]),
        with_message(1, content=[{"type": "text", "text": "Who founded Acme?"}]),
    ],
)
def test_these_are_the_same_request(body: dict[str, Any]) -> None:
    assert keys(body) == keys(BODY)


def test_the_last_user_text_changes_the_key_but_not_the_namespace() -> None:
    other = with_message(3, content="What is her age?")
    assert keys(other)[0] == keys(BODY)[0]
    assert keys(other)[1] != keys(BODY)[1]


def test_tool_choice_written_out_equals_the_default_and_none_does_not() -> None:
    tools = changed(tools=[{"type": "function", "function": {"name": "f"}}])
    assert keys({**tools, "tool_choice": "auto"}) == keys(tools)
    assert keys({**tools, "tool_choice": "none"}) != keys(tools)


def test_images_in_the_last_turn_separate_by_their_whole_url() -> None:
    def ask(url: str) -> dict[str, Any]:
        content = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]
        return with_message(3, content=content)

    assert keys(ask("https://a/x.png"))[0] != keys(ask("https://b/x.png"))[0]
    assert keys(ask("https://a/x.png"))[0] != keys(with_message(3, content="What is it?"))[0]


def test_two_text_parts_are_not_one_text_with_a_line_break() -> None:
    two = with_message(3, content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
    assert keys(two) != keys(with_message(3, content="a\nb"))


@pytest.mark.parametrize("position", range(4))
def test_a_bare_string_in_a_list_is_not_the_text_that_it_looks_like(position: int) -> None:
    def said(content: Any) -> tuple[str, str]:
        return keys(with_message(position, content=content))

    text, picture = BODY["messages"][position]["content"], {"type": "image_url", "image_url": {"url": "u"}}
    part = {"type": "text", "text": text}
    forms = [
        text,
        [text],
        [[text]],
        [part, picture],
        [text, picture],
        [{"": text}],
        [part, part],
        [part, text],
    ]
    assert len({said(form) for form in forms}) == len(forms)
    assert said([part]) == said(text), "a lone text part says the same"


def test_where_text_parts_meet_and_what_stands_beside_their_text_counts() -> None:
    def parts(*texts: str, **beside: Any) -> Any:
        return keys(with_message(3, content=[{"type": "text", "text": text, **beside} for text in texts]))

    assert parts("a\nb", "c") != parts("a", "b\nc")
    assert parts("a", vendor=1) != parts("a", vendor=2)
    assert parts("a", vendor=1) != parts("a")
    assert parts("a", cache_control={"type": "ephemeral"}) == parts("a")
    # Words alone make no other place to meet.
    assert parts("one", "question")[0] == parts("another", "one")[0]


@pytest.mark.parametrize(
    "partition",
    [
        Partition(TenantId("zenith"), "tenant", "", "", "local"),
        Partition(TenantId("acme"), "user", "", "", "local"),
        Partition(TenantId("acme"), "tenant", "u", "", "local"),
        Partition(TenantId("acme"), "tenant", "", "u", "local"),
        Partition(TenantId("acme"), "tenant", "", "", "other"),
        Partition(TenantId("acme"), "tenant", "", "", "local", (("openai-beta", "x"),)),
        Partition(TenantId("acm"), "etenant", "", "", "local"),
    ],
)
def test_callers_are_apart(partition: Partition) -> None:
    assert keys(BODY, partition)[0] != keys(BODY)[0]


names = st.text(min_size=1, max_size=8).filter(
    lambda name: name not in IRRELEVANT_FIELDS | {"cache", "n", "tool_choice"}
)
values = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(name=names, value=values)
def test_any_unknown_field_counts(name: str, value: Any) -> None:
    if name in BODY or name in ("stream", "temperature", "background", "conversation"):
        return
    try:
        body = json.loads(json.dumps(changed(**{name: value})))
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return
    assert keys(body)[0] != keys(BODY)[0]


def test_keys_are_the_same_in_every_process_and_key_order() -> None:
    script = (
        "import json,sys; from tests.embed.test_fingerprint import keys; print(keys(json.load(sys.stdin))[1])"
    )
    reverse = dict(reversed(list(BODY.items())))
    for seed in ("1", "2"):
        out = subprocess.run(
            [sys.executable, "-c", script],
            input=json.dumps(reverse),
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        )
        assert out.stdout.strip() == keys(BODY)[1]


@pytest.mark.parametrize("value", [1e19, -1e300, 1.7976931348623157e308, 2.0**63, 2.0**53 + 2])
@pytest.mark.parametrize("name", ["temperature", "max_tokens", "x_vendor", "n"])
def test_numbers_that_no_integer_of_json_can_say_are_numbers_too(name: str, value: float) -> None:
    assert keys(changed(**{name: value})) != keys(changed(**{name: 1.5}))
    assert keys(changed(**{name: value})) == keys(changed(**{name: value}))


def test_one_number_in_two_spellings_is_one() -> None:
    assert keys(changed(top_k=5.0)) == keys(changed(top_k=5))
    assert keys(changed(top_k=2.0**53)) == keys(changed(top_k=2**53))
