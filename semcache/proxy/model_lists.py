"""Which models there are: the upstream's list and the configuration's names, in the shape that the client reads.

Answered here only where the upstream's own list would not do: it is in another shape, or lacks names that the
configuration gives models. Knows no caching.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

import orjson

from semcache.asking.exchange import body_of
from semcache.calling import auth_of
from semcache.core import Caller
from semcache.dialects.dialect import Dialect, Family
from semcache.errors import RequestError
from semcache.journey import Backend
from semcache.ports import UpstreamCall
from semcache.proxy import ollama_pages as pages
from semcache.routing.aliases import Alias
from semcache.routing.models import Shape, listing, one, shape_of

Pair = tuple[bytes, bytes]

_LONGEST = 8 << 20
_LATEST = ":latest"
"""What Ollama's programs put behind names that have no tag."""
_PATHS: Mapping[Family, str] = {
    "openai": "/v1/models",
    "anthropic": "/v1/models",
    "ollama": "/api/tags",
    "gemini": "/v1beta/models",
}
_HEADERS: Mapping[Family, tuple[Pair, ...]] = {"anthropic": ((b"anthropic-version", b"2023-06-01"),)}


@dataclass(frozen=True, slots=True)
class ModelLists:
    """Answers what clients ask about models.

    Args:
        aliases: what names of models stand for.
        since: when those came to be, in Unix seconds.
        dialects: by the protocol of an upstream: who reads its errors.
    """

    aliases: Mapping[str, Alias]
    since: int
    dialects: Mapping[Family, Dialect]

    async def answer(
        self,
        method: str,
        path: str,
        headers: Iterable[Pair],
        backend: Backend,
        caller: Caller,
        body: Callable[[], Awaitable[bytes]],
    ) -> bytes | None:
        """Give the body of the reply; None: the upstream's own reply will do, and nothing of the request's body was read.

        Raises:
            RequestError: 400, the body of a request is unusable; 404, there is no such model; the
                upstream's status where it refuses to list its models.
            UpstreamError: the upstream could not be reached.
        """
        theirs = Shape(backend.protocol)
        if theirs is not Shape.OLLAMA:
            match method, path:
                case pages.VERSION:
                    return pages.version()
                case pages.RUNNING:
                    return pages.running()
                case pages.SHOW:
                    entry = await self._entry(pages.model_in(await body()), backend, caller)
                    return pages.shown(entry, tools=backend.prefixes is None)
        if method != "GET":
            return None
        asked = shape_of(path, headers)
        if asked is None or (asked[0] is theirs and not self.aliases):
            return None
        shape, name = asked
        if name in self.aliases:
            return one(shape, name, since=self.since)
        if name and shape is theirs:
            return None
        listed = listing(shape, list(self.aliases), await self._theirs(backend, caller), since=self.since)
        return _named(listed, name) if name else listed

    async def _entry(self, name: str, backend: Backend, caller: Caller) -> bytes:
        """Give a model's entry of Ollama's list."""
        if name in self.aliases or any(name == alias.model for alias in self.aliases.values()):
            return one(Shape.OLLAMA, name, since=self.since)
        listed = listing(Shape.OLLAMA, (), await self._theirs(backend, caller), since=self.since)
        return _named(listed, name, name.removesuffix(_LATEST))

    async def _theirs(self, backend: Backend, caller: Caller) -> bytes | None:
        """Ask the upstream for its list; None where it keeps none."""
        protocol = backend.protocol
        auth = auth_of(backend, caller)
        headers = ((b"accept-encoding", b"identity"), *_HEADERS.get(protocol, ()), *auth)
        reply = await backend.generator.open(UpstreamCall("GET", _PATHS[protocol], headers, b""))
        try:
            body = await body_of(reply, _LONGEST)
        finally:
            await reply.aclose()
        if reply.status < 400:
            return body
        if self.aliases or reply.status == 404:
            return None
        words = self.dialects[protocol].read_error(reply.status, body)
        raise RequestError(words.message, status=reply.status, type=words.type, code=words.code)


def _named(listed: bytes, name: str, other: str = "") -> bytes:
    """Give one entry of a list; `other` is another spelling of its name.

    Raises:
        RequestError: 404, it is not in it.
    """
    document = orjson.loads(listed)
    for entry in document.get("data", document.get("models", ())):
        called = (entry.get("id"), str(entry.get("name", "")).removeprefix("models/"))
        if name in called or (other and other in called):
            return orjson.dumps(entry)
    raise RequestError(
        f"There is no model named {name!r}; GET /v1/models lists them all.",
        status=404,
        code="model_not_found",
        param="model",
    )
