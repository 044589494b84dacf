"""Every error of the server or the network is one StoreError with a known kind."""

from __future__ import annotations

import pytest
from redis import exceptions as errors
from redis._parsers.base import BaseParser

from semcache.store.faults import kind_of, to_store_error

REPLIES = {
    "READONLY You can't write against a read only replica. script: abc, on @user_script:3.": "readonly",
    "LOADING Valkey is loading the dataset in memory": "loading",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.": "loading",
    "OOM command not allowed when used memory > 'maxmemory'.": "full",
    "NOAUTH Authentication required.": "auth",
    "WRONGPASS invalid username-password pair or user is disabled.": "auth",
    "NOPERM User default has no permissions to run the 'evalsha' command": "auth",
    "MOVED 1234 10.0.0.1:6379": "moved",
    "ASK 1234 10.0.0.1:6379": "moved",
    "CROSSSLOT Keys in request don't hash to the same slot": "moved",
    "CLUSTERDOWN Hash slot not served": "moved",
    "TRYAGAIN Multiple keys request during rehashing of slot": "moved",
    "WRONGTYPE Operation against a key holding the wrong kind of value script: abc": "wrongtype",
    "MISCONF Errors writing to the AOF file: No space left on device": "disk",
    "NOREPLICAS Not enough good replicas to write.": "readonly",
    "BUSY Valkey is busy running a script.": "busy",
    "ERR max number of clients reached": "down",
    "ERR unknown command 'EVALSHA'": "error",
    "": "error",
}


@pytest.mark.event(23)
@pytest.mark.parametrize(("reply", "kind"), REPLIES.items())
def test_names_the_server_s_refusals(reply: str, kind: str) -> None:
    assert kind_of(BaseParser.parse_error(reply)) == kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError(), "late"),
        (errors.TimeoutError("x"), "late"),
        (errors.ConnectionError("Connection refused"), "down"),
        (errors.AuthenticationError("x"), "auth"),
        (errors.InvalidResponse("Protocol error"), "error"),
        (errors.ConnectionError(errors.BusyLoadingError("x")), "loading"),
        (errors.ConnectionError(ValueError("x")), "down"),
        (ConnectionResetError(), "down"),
        (FileNotFoundError(), "down"),
        (EOFError(), "down"),
    ],
)
def test_names_what_the_network_does(error: Exception, kind: str) -> None:
    assert kind_of(error) == kind


def test_tells_nothing_the_server_quoted() -> None:
    error = to_store_error(errors.ResponseError("unknown command, with args beginning with: 'my secret'"))
    assert "secret" not in str(error)
