"""Requests at random in every dialect, and the same with exactly one field changed. Pure.

A flip changes one value somewhere in the body (another text, another number, another type, one thing more or less in a list or
an object, at any depth), adds or takes away a field nobody has heard of, or changes one header that says who asks or how. What
no model hears of (`SILENT`) is never flipped here; `quiet` changes only that.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from semcache.dialects.dialect import Dialect
from semcache.dialects.table import BY_NAME
from semcache.errors import RequestError
from tests.dialects.answers import TOOL
from tests.trust.isolation.corpus import REPLY, TOPICS, WISHES, Wish

NAMES = (
    *("openai.chat",) * 4,
    "openai.completions",
    "openai.responses",
    "openai.embeddings",
    "anthropic.messages",
    "ollama.chat",
    "ollama.generate",
    "gemini.generate",
)
SILENT: dict[str, frozenset[str]] = {
    "openai.chat": frozenset(
        (
            *("stream", "stream_options", "metadata", "store", "service_tier", "user", "safety_identifier"),
            *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "cache_salt"),
        )
    ),
    "anthropic.messages": frozenset(
        (
            *("stream", "metadata", "service_tier", "speed", "cache_control", "billing_policy"),
            "fallback_credit_token",
        )
    ),
    "ollama.chat": frozenset(("stream", "keep_alive")),
    "ollama.generate": frozenset(("stream", "keep_alive")),
    "gemini.generate": frozenset(("labels", "serviceTier", "store")),
}
"""Fields at the top of a body that no model hears of, by dialect; those of OpenAI's are chat's."""
_UNKNOWN: tuple[tuple[str, Any], ...] = (
    ("x_mode", {"deep": [1, {"on": True, "of": [2, 3]}], "word": "v"}),
    ("chat_template_kwargs", {"thinking": False, "budget": 100}),
    ("guided_choice", ["yes", "no"]),
    ("top_k", 40),
    ("min_p", 0.05),
    ("x_list", [[1, 2], ["a"], {}]),
    ("x_flag", True),
    ("x_zero", 0),
    ("x_name", "1"),
    ("x_Case", "a"),
)
_KNOWN: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("temperature", (0, 0.1, 0.25)),
    ("top_p", (0.5, 0.9)),
    ("stop", (["END"], ["a", "b"])),
    ("max_tokens", (64, 512)),
    ("presence_penalty", (0.5, 1)),
    ("frequency_penalty", (0.5, 1)),
)
_OF_CHAT: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("logit_bias", ({"50256": -100, "11": 5},)),
    ("reasoning_effort", ("low", "high")),
    ("verbosity", ("low", "medium")),
    ("seed", (7,)),
    ("modalities", (["text"],)),
    ("response_format", ({"type": "text"},)),
)
_HEADERS: tuple[tuple[str, str], ...] = (
    ("semcache-namespace", "other"),
    ("semcache-user", "ann"),
    ("accept-language", "de"),
    ("authorization", "Bearer sk-flip-2"),
    ("openai-beta", "assistants=v2"),
    ("anthropic-beta", "context-1m"),
    ("anthropic-version", "2023-06-01"),
    ("semcache-upstream", "other"),
)
"""One header more, or another one: each says who asks, or changes what is answered."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as a client sends it; `text` is its last question, `wish` what that asks for."""

    dialect: Dialect
    path: str
    body: Any
    query: bytes
    text: str
    wish: Wish
    upstream: str
    namespace: str
    headers: tuple[tuple[str, str], ...] = ()

    def sent(self) -> dict[str, str]:
        """Give all headers."""
        own = {
            "content-type": "application/json",
            "authorization": "Bearer sk-flip-1",
            "semcache-namespace": self.namespace,
            "semcache-upstream": self.upstream,
        }
        return own | dict(self.headers)

    @property
    def target(self) -> str:
        return self.path + (f"?{self.query.decode()}" if self.query else "")


@dataclass(frozen=True, slots=True)
class Flip:
    """A request with one thing changed: where, and how."""

    request: Request
    place: str
    kind: str


def base(by: Random, number: int) -> Request:
    """Draw a request; each has a namespace of its own."""
    name = by.choice(NAMES)
    wish = by.choice(WISHES)
    text = by.choice(wish.wordings)
    dialect = BY_NAME[name]
    if name == "openai.embeddings":
        body = {"model": "m", "input": text, "dimensions": by.choice((256, 512)), "encoding_format": "float"}
        return Request(dialect, "/v1/embeddings", body, b"", text, wish, "every", f"f{number}")
    chat = _chat(by, text, plain=name != "openai.chat")
    try:
        written = dialect.write(chat)
    except RequestError:
        written = dialect.write({"model": "m", "max_tokens": 64, "messages": chat["messages"][-1:]})
    body = copy.deepcopy(dict(written.body))
    upstream = "plain" if name == "openai.chat" and by.random() < 0.5 else "every"
    if by.random() < 0.5:
        for key, value in by.sample(_UNKNOWN, by.randint(1, 3)):
            body[key] = copy.deepcopy(value)
    return Request(dialect, written.path, body, written.query, text, wish, upstream, f"f{number}")


def _chat(by: Random, text: str, *, plain: bool) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    if by.random() < 0.5:
        messages.append({"role": "system", "content": by.choice(("Be brief.", "Answer in verse."))})
    if by.random() < 0.3:
        said = by.choice(tuple(TOPICS.values()))
        messages += [{"role": "user", "content": said}, {"role": "assistant", "content": REPLY}]
    last: dict[str, Any] = {"role": "user", "content": text}
    if not plain and by.random() < 0.2:
        last["name"] = "someone"
    body: dict[str, Any] = {"model": "m", "max_tokens": 64, "messages": [*messages, last]}
    known = _KNOWN if plain else _KNOWN + _OF_CHAT
    for name, values in by.sample(known, by.randint(0, 4)):
        body[name] = copy.deepcopy(by.choice(values))
    if by.random() < 0.15:
        tool = copy.deepcopy(TOOL)
        body |= {"tools": [tool, _renamed(tool)], "tool_choice": "required"}
    return body


def _renamed(tool: dict[str, Any]) -> dict[str, Any]:
    other = copy.deepcopy(tool)
    other["function"]["name"] = "get_time"
    return other


# -- flips ------------------------------------------------------------------------------


def flips(by: Random, request: Request, count: int) -> Iterator[Flip]:
    """Change one thing, `count` times anew."""
    for _ in range(count):
        kind = by.random()
        if kind < 0.1:
            yield _of_header(by, request)
        elif kind < 0.2:
            yield _of_question(by, request)
        else:
            yield _of_body(by, request)


def _of_header(by: Random, request: Request) -> Flip:
    heard = [one for one in _HEADERS if request.upstream == "every" or not _is_foreign(one[0], request)]
    name, value = by.choice(heard)
    return Flip(replace(request, headers=((name, value),)), name, "header")


def _is_foreign(name: str, request: Request) -> bool:
    """True for headers that an upstream of another API never hears of."""
    return request.dialect.family != "openai" and name.startswith(("anthropic-", "openai-"))


def _of_question(by: Random, request: Request) -> Flip:
    other = by.choice([wish for wish in WISHES if wish is not request.wish])
    body = _with_text(request.body, request.text, by.choice(other.wordings))
    return Flip(replace(request, body=body), "question", "question")


def in_other_words(by: Random, request: Request) -> Request:
    """Ask the same in another wording."""
    text = by.choice([one for one in request.wish.wordings if one != request.text])
    return replace(request, body=_with_text(request.body, request.text, text), text=text)


def _with_text(body: Any, old: str, new: str) -> Any:
    return json.loads(json.dumps(body).replace(json.dumps(old), json.dumps(new)))


def _of_body(by: Random, request: Request) -> Flip:
    silent = SILENT.get(request.dialect.name, SILENT["openai.chat"])
    if by.random() < 0.15:
        name, value = by.choice([one for one in _UNKNOWN if one[0] not in request.body])
        return Flip(replace(request, body={**request.body, name: value}), name, "added")
    nodes = [node for node in _nodes(request.body) if node[0][0] not in silent and node[1] != request.text]
    path, old = by.choice(nodes)
    kind, new = _other(by, old)
    return Flip(replace(request, body=_changed(request.body, path, new)), ".".join(map(str, path)), kind)


def _nodes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Give every value inside a body with its place, but for the body itself."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key), item
        yield from _nodes(item, (*path, key))


_GONE = object()


def _changed(body: Any, path: tuple[Any, ...], new: Any) -> Any:
    copied = copy.deepcopy(body)
    place = copied
    for key in path[:-1]:
        place = place[key]
    if new is _GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = new
    return copied


def _other(by: Random, old: Any) -> tuple[str, Any]:
    """Give another value: of the same type mostly, or of another that a careless reader would take for the same."""
    if by.random() < 0.1:
        return "removed", _GONE
    match old:
        case bool():
            return by.choice((("value", not old), ("type", int(old)), ("type", str(old).lower())))
        case int() | float():
            return by.choice(_numbers(old))
        case str():
            return by.choice(_texts(old))
        case list():
            return by.choice(_lists(old))
        case dict():
            return by.choice(_objects(by, old))
        case _:
            return "type", "null"


def _numbers(old: float) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [
        ("value", old + 1),
        ("type", str(old)),
        ("value", old + 0.001),
        ("type", [old]),
    ]
    if old in (0, 1):
        found.append(("type", bool(old)))
    return found


def _texts(old: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [
        ("value", old + "~"),
        ("value", f"x{old}"),
        ("type", [old]),
        ("type", {"v": old}),
    ]
    if old.swapcase() != old:
        found.append(("value", old.swapcase()))
    if old.isdigit():
        found.append(("type", int(old)))
    return found


def _lists(old: list[Any]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [
        ("added", [*old, "more"]),
        ("added", [*old, copy.deepcopy(old[-1])] if old else [0]),
    ]
    if old:
        found.append(("removed", old[:-1]))
    if len(old) > 1 and old[0] != old[-1]:
        found.append(("order", old[::-1]))
    return found


def _objects(by: Random, old: dict[str, Any]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [("added", {**old, "x_more": 1}), ("added", {**old, "": "empty"})]
    if old:
        name = by.choice(list(old))
        rest = {key: value for key, value in old.items() if key != name}
        found += [("removed", rest), ("renamed", {**rest, f"{name}_": old[name]})]
    return found


# -- what does not count ----------------------------------------------------------------


def quiet(by: Random, request: Request) -> Flip:
    """Change something that no model hears of, or only how the same JSON is written."""
    ways: list[Callable[[], Flip]] = [lambda: _reordered(request)]
    body, name = request.body, request.dialect.name
    if name.startswith("openai."):
        ways += [
            lambda: Flip(replace(request, body={**body, "user": "somebody"}), "user", "quiet"),
            lambda: Flip(
                replace(request, body={**body, "metadata": {"a": str(by.random())}}), "metadata", "quiet"
            ),
            lambda: Flip(replace(request, body={**body, "service_tier": "flex"}), "service_tier", "quiet"),
        ]
    if name == "openai.chat":
        ways.append(lambda: Flip(replace(request, body={**body, "stream": True}), "stream", "quiet"))
        ways.append(lambda: Flip(replace(request, body={**body, "x_null": None}), "null", "quiet"))
        ways.append(lambda: Flip(replace(request, body={**body, "n": 1}), "default", "quiet"))
    if name == "anthropic.messages":
        ways.append(
            lambda: Flip(replace(request, body={**body, "metadata": {"user_id": "u"}}), "metadata", "quiet")
        )
    if name.startswith("ollama."):
        ways.append(lambda: Flip(replace(request, body={**body, "keep_alive": "5m"}), "keep_alive", "quiet"))
    ways.append(lambda: Flip(replace(request, headers=(("x-vendor", "1"),)), "header", "quiet"))
    ways.append(lambda: Flip(replace(request, headers=(("semcache-tags", "t"),)), "tags", "quiet"))
    return by.choice(ways)()


def _reordered(request: Request) -> Flip:
    turned = {key: request.body[key] for key in reversed(request.body)}
    return Flip(replace(request, body=turned), "order of keys", "quiet")


def heard(dialect: str, body: Any) -> Any:
    """Give what of a call a model hears of, in one spelling: for requests that were found equal, to see whether they are."""
    silent = SILENT.get(dialect, SILENT["openai.chat"])
    means_nothing = {"n": 1, "tool_choice": "auto"}
    if dialect == "gemini.generate":
        # Who speaks is the user where nobody is named.
        body = {**body, "contents": [{"role": "user", **turn} for turn in body["contents"]]}
    return {
        name: value
        for name, value in body.items()
        if name not in silent
        and value is not None
        and not (name in means_nothing and value == means_nothing[name])
    }


@dataclass
class Kinds:
    """Counts of flips by kind and dialect."""

    by: dict[str, int] = field(default_factory=dict)

    def count(self, word: str) -> None:
        """Count one."""
        self.by[word] = self.by.get(word, 0) + 1
