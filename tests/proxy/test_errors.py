"""Error replies carry what the error itself tells the client to do."""

from __future__ import annotations

import pytest

from semcache.dialects.table import BY_NAME
from semcache.errors import RequestError, SemcacheError, UpstreamError
from semcache.proxy.errors import error_reply

HEADERS = (("Retry-After", "7"),)


@pytest.mark.parametrize("dialect", BY_NAME.values(), ids=list(BY_NAME))
@pytest.mark.parametrize(
    "error",
    [
        RequestError("used up", status=429, code="budget_exceeded", headers=HEADERS),
        UpstreamError("no place", status=503, code="overloaded", headers=HEADERS),
    ],
    ids=["refused", "upstream"],
)
def test_whoever_is_refused_hears_when_to_come_again(dialect: object, error: SemcacheError) -> None:
    status, head, body = error_reply(error, "req_1", dialect)  # type: ignore[arg-type]  # from the table
    assert status == error.status
    assert dict(head)[b"retry-after"] == b"7"
    assert str(error).encode() in body
