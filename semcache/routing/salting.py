"""Keeps owners apart at nodes that hold computed prompts: the `cache_salt` that vLLM, SGLang and the engine read.

Prompts with different salts share nothing there, so that nobody can find out by timing what another tenant asks. The
salt names the head of a conversation, which its owner is a part of (`affinity`). Knows chat bodies and the field.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from semcache.errors import RequestError
from semcache.ports import UpstreamCall, UpstreamReply
from semcache.routing.affinity import head_of
from semcache.routing.paths import dialect_of
from semcache.routing.settings import SALTED
from semcache.routing.target import Fronted

SALT = "cache_salt"
_OWNERS = "prefix_cache"
"""The engine's own words about owners, which are not for callers to say."""
_MOST = 16 << 20


@dataclass(frozen=True, slots=True)
class Salting(Fronted):
    """A member whose calls say whose they are.

    A call without affinity gets a salt of its own: it shares with nobody. One that cannot be read is refused.
    """

    async def open(self, call: UpstreamCall) -> UpstreamReply:
        """Send the call with its salt; errors as for `ports.Generator`."""
        return await self.member.open(await salted(call))


async def salted(call: UpstreamCall) -> UpstreamCall:
    """Give the call with a salt by its owner; what the client said of one sets it apart further.

    Raises:
        RequestError: 400, it is no JSON object; 413, it is too large to be read.
    """
    if call.method != "POST" or dialect_of(call.path) not in SALTED:
        return call
    body = _read(call.body if isinstance(call.body, bytes) else await _gathered(call.body))
    marked = _marked(body, head_of(call.affinity) or secrets.token_bytes(16))
    # In ASCII: text that is no Unicode, which not every writer takes, is passed on.
    return replace(call, body=json.dumps(marked, separators=(",", ":")).encode())


async def _gathered(parts: AsyncIterator[bytes]) -> bytes:
    gathered = bytearray()
    async for part in parts:
        gathered += part
        if len(gathered) > _MOST:
            raise RequestError(
                "The request is too large for this upstream.", status=413, code="request_too_large"
            )
    return bytes(gathered)


def _read(body: bytes) -> Mapping[str, Any]:
    try:
        read = json.loads(body)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise RequestError("The request's body is not a JSON object.", code="invalid_json")
    return read


def _marked(body: Mapping[str, Any], head: bytes) -> dict[str, Any]:
    kept = {name: value for name, value in body.items() if name not in (SALT, _OWNERS)}
    digest = hashlib.blake2b(head, digest_size=16)
    digest.update(str(body.get(SALT)).encode("utf-8", "surrogatepass"))
    return {**kept, SALT: digest.hexdigest()}
