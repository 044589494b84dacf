"""What can go wrong with Redis, as one `StoreError` with a short kind (pure).

| kind | meaning |
|---|---|
| `down` | no connection, or it broke |
| `late` | no answer within the deadline |
| `open` | not asked at all: the breaker is open |
| `busy` | too many callers wait for a connection, or a script blocks the server |
| `readonly`, `loading`, `full`, `auth`, `moved`, `wrongtype`, `disk` | the server's own refusals |
| `corrupt` | the stored bytes are damaged or not what was asked for |
| `invalid`, `quota` | the entry itself cannot be stored |
| `config` | the URL or the deployment is not usable |
| `error` | any other refusal |

This module knows no connections and keeps no counts.
"""

from __future__ import annotations

from redis import exceptions as redis_errors

from semcache.errors import StoreError

_BY_CODE = {
    "READONLY": "readonly",
    "LOADING": "loading",
    "MASTERDOWN": "loading",
    "OOM": "full",
    "NOAUTH": "auth",
    "WRONGPASS": "auth",
    "NOPERM": "auth",
    "MOVED": "moved",
    "ASK": "moved",
    "CROSSSLOT": "moved",
    "CLUSTERDOWN": "moved",
    "TRYAGAIN": "moved",
    "WRONGTYPE": "wrongtype",
    "MISCONF": "disk",
    "NOREPLICAS": "readonly",
    "BUSY": "busy",
}

UNAVAILABLE = frozenset({"down", "late", "loading", "auth"})
"""Kinds that say the server as a whole is of no use: these open the breaker."""


def code_of(error: redis_errors.RedisError) -> str:
    """Give the word Redis begins its error reply with, `""` when it is no reply."""
    code = error.status_code if isinstance(error.status_code, str) else ""
    return code or str(error).split(" ", 1)[0].lstrip("-")


def kind_of(error: BaseException) -> str:
    """Name the fault behind an exception of redis-py or of the operating system."""
    match error:
        case TimeoutError() | redis_errors.TimeoutError():
            return "late"
        case redis_errors.ConnectionError(args=(redis_errors.RedisError() as inner,)):
            return kind_of(inner)  # redis-py wraps what the server said to the first commands
        case redis_errors.BusyLoadingError():
            return "loading"
        case redis_errors.AuthenticationError() | redis_errors.AuthorizationError():
            return "auth"
        case redis_errors.RedisError():
            named = _BY_CODE.get(code_of(error))
            if named:
                return named
            return "down" if isinstance(error, redis_errors.ConnectionError) else "error"
        case OSError() | EOFError():
            return "down"
        case _:
            return "error"


def to_store_error(error: BaseException) -> StoreError:
    """Turn an exception into the store's own; the text holds no key and no value.

    A server's error text may quote a command with its arguments, so only its kind is told.
    """
    kind = kind_of(error)
    return StoreError(f"entry store: {kind} ({type(error).__name__})", kind=kind)
