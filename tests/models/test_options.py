from __future__ import annotations

from pathlib import Path

import pytest

from semcache.models import user_cache


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"SEMCACHE_MODEL_CACHE": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/c"),
        ({"SEMCACHE_MODEL_CACHE": "", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, None),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/semcache/models"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/semcache/models"),
        ({"HOME": "/h"}, "/h/.cache/semcache/models"),
        ({"XDG_CACHE_HOME": "relative"}, None),
        ({}, None),
    ],
)
def test_where_the_user_cache_lies(environ: dict[str, str], expected: str | None) -> None:
    assert user_cache(environ) == (Path(expected) if expected else None)
