"""The endpoint of all requests that ask a model for an answer: a raw ASGI callable, since an exact hit must cost next to nothing.

Authenticate, read, parse, let the pipeline answer, write, record. Authentication comes before
the body is read. Nothing here decides what may be served.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from semcache.core import Usage
from semcache.cost.symptoms import Retries
from semcache.dialects.dialect import Dialect
from semcache.errors import SemcacheError
from semcache.pipeline import Pipeline
from semcache.ports import Clock, RecordSink
from semcache.proxy.admission import Admission
from semcache.proxy.body import ClientGone
from semcache.proxy.errors import shutting_down
from semcache.proxy.exchange import Exchange
from semcache.proxy.recent import RecentRequests
from semcache.proxy.replay import Replay
from semcache.proxy.types import Receive, Scope, Send

_log = structlog.get_logger()
_LAST_WORD = 1.0
"""Seconds for a last word to those who are cut off."""


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """Answers chat completions, messages, responses and their like.

    Args:
        price: micro-USD of tokens of a model, at an upstream; None: not known.
        body_limit: bytes of a request body.
        body_deadline: seconds for a body to arrive.
    """

    pipeline: Pipeline
    admission: Admission
    replay: Replay
    recent: RecentRequests
    records: RecordSink
    price: Callable[[str, Usage, str], int | None]
    retries: Retries
    clock: Clock
    new_request_id: Callable[[], str]
    new_completion_id: Callable[[], str]
    body_limit: int
    body_deadline: float

    async def __call__(self, dialect: Dialect, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request in a dialect; every error leaves in its shape."""
        exchange = Exchange(self, dialect, scope, receive, send)
        try:
            await exchange.run()
        except ClientGone:
            exchange.left()
        except asyncio.CancelledError:
            # Nothing else cancels a request but the end of the time to drain: its client is told so, and not left with half.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORD):
                    await exchange.fail(shutting_down())
        except SemcacheError as error:
            await exchange.fail(error)
        except Exception as error:  # noqa: BLE001 - the boundary: no framework error may reach a client
            _log.exception("request failed", request_id=exchange.request_id, error=type(error).__name__)
            await exchange.fail(SemcacheError())
        finally:
            self.records.emit(exchange.record())
