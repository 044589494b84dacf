"""Random requests of Anthropic's messages, and every way to change one at a single place."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

MARK = {"type": "ephemeral", "ttl": "1h"}
words = st.text("abc 雪😀.", min_size=1, max_size=6).map(lambda text: f"w{text.strip()}")
values = st.recursive(
    words | st.integers(-3, 3) | st.booleans(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
inputs = st.dictionaries(words, values, max_size=2)


def block(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(kind), **fields})


texts = block("text", text=words)
sources = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.just("base64"),
            "media_type": st.sampled_from(("image/png", "image/jpeg")),
            "data": st.sampled_from(("aGk=", "eW8=")),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("url"), "url": words.map(lambda text: "https://a.example/" + text)}
    ),
)
images = block("image", source=sources)
documents = st.one_of(
    block(
        "document",
        title=words,
        source=st.fixed_dictionaries({"type": st.just("text"), "media_type": words, "data": words}),
        citations=st.fixed_dictionaries({"enabled": st.booleans()}),
    ),
    block(
        "document",
        source=st.fixed_dictionaries(
            {"type": st.just("content"), "content": st.lists(texts, min_size=1, max_size=2)}
        ),
    ),
    block("search_result", source=words, title=words, content=st.lists(texts, min_size=1, max_size=2)),
)
odd = st.one_of(
    documents,
    block(
        "text",
        text=words,
        citations=st.lists(block("char_location", cited_text=words), min_size=1, max_size=1),
    ),
    block("not_yet_known", stuff=values),
    block("image_url", image_url=st.fixed_dictionaries({"url": words})),
    block("anthropic", block=texts),
)
results = st.one_of(
    block("tool_result", tool_use_id=words, content=words),
    block("tool_result", tool_use_id=words, content=st.lists(texts | images, min_size=1, max_size=2)),
    block("tool_result", tool_use_id=words, is_error=st.just(True), content=words),
    block("tool_result", tool_use_id=words, toolset_name=words, content=words),
)
calls = block("tool_use", id=words, name=words, input=inputs)
thoughts = st.one_of(
    block("thinking", thinking=words, signature=words),
    block("thinking", thinking=words),
    block("redacted_thinking", data=words),
    block("server_tool_use", id=words, name=words, input=inputs),
    block("tool_use", id=words, name=words, input=inputs, caller=st.fixed_dictionaries({"type": words})),
)
users = st.lists(st.one_of(texts, texts, images, results, odd), min_size=1, max_size=4)
assistants = st.lists(st.one_of(texts, calls, calls, thoughts, odd), min_size=1, max_size=4)


def message(role: str, blocks: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"role": st.just(role), "content": blocks})


turns = st.one_of(
    message("user", words),
    message("user", users),
    message("assistant", words),
    message("assistant", assistants),
    message("system", words | st.lists(texts, min_size=1, max_size=2)),
    st.fixed_dictionaries({"role": st.just("assistant"), "content": words, "tool_calls": values}),
)
tools = st.one_of(
    st.fixed_dictionaries({"name": words, "description": words, "input_schema": inputs}),
    st.fixed_dictionaries({"name": words, "input_schema": inputs, "strict": st.just(True)}),
    st.fixed_dictionaries({"name": words, "input_schema": inputs, "eager_input_streaming": st.booleans()}),
    st.fixed_dictionaries(
        {"name": words, "input_schema": inputs, "input_examples": st.lists(inputs, max_size=1)}
    ),
    block("web_search_20260318", name=words, max_uses=st.integers(1, 5)),
)
forms = st.fixed_dictionaries({"type": st.just("json_schema"), "schema": inputs})
choices = st.one_of(
    st.fixed_dictionaries({"type": st.just("any")}),
    st.fixed_dictionaries({"type": st.just("none")}),
    st.fixed_dictionaries({"type": st.just("tool"), "name": words}),
    st.fixed_dictionaries({"type": st.just("any"), "disable_parallel_tool_use": st.just(True)}),
)
requests: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"model": words, "max_tokens": st.integers(1, 99), "messages": st.lists(turns, min_size=1, max_size=4)},
    optional={
        "system": words | st.lists(texts, min_size=1, max_size=2),
        "temperature": st.sampled_from((0, 0.5, 1)),
        "top_p": st.sampled_from((0.5, 0.9)),
        "top_k": st.integers(1, 9),
        "stop_sequences": st.lists(words, min_size=1, max_size=2),
        "tools": st.lists(tools, min_size=1, max_size=2),
        "tool_choice": choices,
        "thinking": st.sampled_from(
            ({"type": "disabled"}, {"type": "adaptive"}, {"type": "enabled", "budget_tokens": 1024})
        ),
        "output_config": st.fixed_dictionaries(
            {},
            optional={
                "effort": st.sampled_from(("low", "high", "max")),
                "format": forms,
                "task_budget": inputs,
            },
        ).filter(bool),
        "context_management": st.fixed_dictionaries({"edits": st.lists(inputs, min_size=1, max_size=2)}),
        "container": st.fixed_dictionaries({"id": words}),
        "mcp_servers": st.lists(inputs, min_size=1, max_size=1),
        "inference_geo": words,
        "stop": words,
        "metadata": st.fixed_dictionaries({"user_id": words}),
        "service_tier": st.sampled_from(("auto", "standard_only")),
        "speed": st.sampled_from(("fast", "standard")),
        "stream": st.booleans(),
        "cache_control": st.just(MARK),
    },
)

Path = tuple[Any, ...]
Changed = tuple[Path, dict[str, Any]]


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Give every value inside, with its place, the whole first."""
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        yield from places(item, (*path, key))


def at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def changes(body: dict[str, Any]) -> Iterator[Changed]:
    """Give every request that differs from this one at a single place: a value, a field or item more or less, an order."""
    for path, value in places(body):
        for work in _works(value):
            other = copy.deepcopy(body)
            if work(at(other, path[:-1]) if path else {}, path[-1] if path else None, at(other, path)):
                yield path, other


def _works(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            yield _added
            for name in value:
                yield lambda _, __, place, name=name: (place.pop(name), True)[1]
        case list():
            for number in range(len(value)):
                yield lambda _, __, place, number=number: (place.pop(number), True)[1]
                yield lambda _, __, place, number=number: (place.insert(number, place[number]), True)[1]
            for number in range(1, len(value)):
                yield lambda _, __, place, number=number: _swapped(place, number)
        case bool():
            yield lambda parent, key, place: _put(parent, key, not place)
        case int() | float():
            yield lambda parent, key, place: _put(parent, key, place + 1)
        case str():
            yield lambda parent, key, place: _put(parent, key, place + "~")
            yield lambda parent, key, place: _put(parent, key, {"x": place})


def _added(_: Any, __: Any, place: dict[str, Any]) -> bool:
    place["x_new"] = 1
    return True


def _put(parent: Any, key: Any, value: Any) -> bool:
    parent[key] = value
    return True


def _swapped(place: list[Any], number: int) -> bool:
    if place[number] == place[number - 1]:
        return False
    place[number - 1 : number + 1] = [place[number], place[number - 1]]
    return True


def blocks_of(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give every object of a request that may carry a mark for the prompt cache."""
    yield body
    for path, value in places(body):
        if not isinstance(value, dict) or not path or not isinstance(path[-1], int):
            continue
        if set(path[:-1:2]) & {"messages", "system", "tools"} and _is_block(path):
            yield value


def _is_block(path: Path) -> bool:
    names = [name for name in path if isinstance(name, str)]
    return names in (
        ["system"],
        ["tools"],
        ["messages", "content"],
        ["messages", "content", "content"],
        ["messages", "content", "source", "content"],
    )
