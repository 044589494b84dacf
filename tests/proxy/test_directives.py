"""What clients may ask of the cache, and how they may not ask it."""

from __future__ import annotations

from typing import Any

import pytest

from semcache.core import Directives
from semcache.errors import RequestError
from semcache.proxy.directives import directives_of


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        ({}, Directives()),
        ({b"cache-control": b"no-cache"}, Directives(no_read=True)),
        ({b"cache-control": b"No-Store, max-age=10"}, Directives(no_store=True, max_age=10)),
        ({b"cache-control": b'max-age="0", only-if-cached'}, Directives(max_age=0, only_if_cached=True)),
        ({b"cache-control": b"max-stale=4, public"}, Directives()),
        ({b"semcache-mode": b"Exact"}, Directives(mode="exact")),
        ({b"semcache-ttl": b"30"}, Directives(ttl=30)),
        ({b"semcache-threshold": b"0.97"}, Directives(threshold=0.97)),
        ({b"semcache-threshold": b"0"}, Directives(threshold=0.0)),
        ({b"semcache-tags": b"v7, kb-42,, v7"}, Directives(tags=("kb-42", "v7"))),
        (
            {b"semcache-labels": b'project=a, env="prod"'},
            Directives(labels=(("project", "a"), ("env", "prod"))),
        ),
        ({b"semcache-unknown": b"x"}, Directives()),
    ],
)
def test_headers(headers: dict[bytes, bytes], wanted: Directives) -> None:
    assert directives_of(headers, None) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({}, Directives()),
        ({"no-cache": True, "no-store": True}, Directives(no_read=True, no_store=True)),
        ({"ttl": 5, "s-maxage": 7, "namespace": "n"}, Directives(ttl=5, max_age=7, namespace="n")),
        ({"no-cache": False, "use-cache": True}, Directives()),
    ],
)
def test_the_body_object_of_another_proxy(value: dict[str, Any], wanted: Directives) -> None:
    assert directives_of({}, value) == wanted


@pytest.mark.parametrize(
    ("headers", "value"),
    [
        ({b"cache-control": b"max-age=soon"}, None),
        ({b"cache-control": b"max-age=-1"}, None),
        ({b"semcache-mode": b"loose"}, None),
        ({b"semcache-ttl": b"nan"}, None),
        ({b"semcache-ttl": b"inf"}, None),
        ({b"semcache-threshold": b"1.5"}, None),
        ({b"semcache-threshold": b"-0.1"}, None),
        ({b"semcache-namespace": b"a\x00b"}, None),
        ({b"semcache-namespace": b"x" * 257}, None),
        ({b"semcache-labels": b"=;;"}, None),
        ({b"semcache-tags": ",".join(str(n) for n in range(17)).encode()}, None),
        ({}, "yes"),
        ({}, {"ttl": True}),
        ({}, {"ttl": "x"}),
    ],
)
def test_nonsense_is_refused_by_name(headers: dict[bytes, bytes], value: Any) -> None:
    with pytest.raises(RequestError) as caught:
        directives_of(headers, value)
    assert caught.value.status == 400
    assert caught.value.param
