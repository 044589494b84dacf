"""The dialect as the proxy meets it: what it calls itself, and how a request is asked once more for a whole answer."""

from __future__ import annotations

from typing import Any

import pytest

from semcache.dialects.anthropic import MESSAGES
from semcache.dialects.anthropic.request import IRRELEVANT
from semcache.dialects.dialect import Dialect
from semcache.dialects.request import request_of
from semcache.embed.fingerprint import IRRELEVANT_FIELDS
from tests.dialects.anthropic import answered as by
from tests.dialects.anthropic.test_answer import TEXT, message
from tests.dialects.anthropic.test_identity import asked, user


def test_it_is_a_dialect() -> None:
    dialect: Dialect = MESSAGES
    assert (dialect.name, dialect.family, dialect.route) == ("anthropic.messages", "anthropic", "messages")


THINKING = {"type": "enabled", "budget_tokens": 1024}


@pytest.mark.parametrize(
    ("fields", "temperature", "body", "native"),
    [
        ({}, None, None, None),
        ({"temperature": 0.2}, None, 0.2, 0.2),
        ({"temperature": 0.2}, 0.7, 0.7, 0.7),
        ({"temperature": 0.9}, 0.7, 0.9, 0.9),
        # Whoever names none is answered at the warmest.
        ({}, 0.7, 1.0, 1.0),
        ({"temperature": 0.2}, 1.5, 1.5, 1.0),
        # Models that think take none.
        ({"thinking": THINKING}, 0.7, 1.0, None),
        ({"thinking": {"type": "disabled"}}, 0.7, 1.0, 1.0),
        ({"thinking": {}}, 0.7, 1.0, 1.0),
    ],
    ids=str,
)
def test_asking_once_more(fields: dict[str, Any], temperature: float | None, body: Any, native: Any) -> None:
    request = request_of(MESSAGES, asked(user("x"), stream=True, **fields), "/v1/messages")
    again = MESSAGES.unstreamed(request, temperature)
    assert (again.stream, again.include_usage, again.prompt) == (False, False, "x")
    assert again.native is not None
    for told in (again.body, again.native):
        assert not {"stream", "stream_options"} & told.keys()
    assert (again.body.get("temperature"), again.native.get("temperature")) == (body, native)
    assert request.native is not None
    assert request.native["stream"] is True


def test_what_is_irrelevant_here_and_in_chat_agree() -> None:
    """A field that both know has one role; the others of ours are told in the dialect's own list."""
    own = IRRELEVANT - IRRELEVANT_FIELDS
    assert own == {"speed", "cache_control", "billing_policy", "fallback_credit_token"}


def test_a_replay_in_parts_is_the_replay_in_one() -> None:
    for stream in (True, False):
        layout = MESSAGES.layout(by.stored(message(TEXT)), by.wanted(stream=stream))
        parts = list(layout.events(by.ID, by.CREATED))
        assert b"".join(parts) == layout.whole(by.ID, b"1")
        assert (len(parts) > 3) == stream
        assert layout.size > 100


def test_pieces_are_counted() -> None:
    stream = by.replayed(by.stored(message(TEXT)), stream=True)
    assert MESSAGES.count_events(stream) == 1
    assert MESSAGES.count_events(by.event("ping")) == 0
