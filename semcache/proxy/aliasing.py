"""Names of models in calls that are only forwarded (counting tokens, embeddings of other APIs, speech): what they stand for.

Looks at the path, or at a JSON body of known and bearable length; all else goes on as it came. Knows no upstreams.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote

from semcache.dialects.halves import dumped
from semcache.errors import RequestError
from semcache.proxy.body import parse_object, read_body
from semcache.proxy.headers import RequestHeaders
from semcache.proxy.plain_budget import again
from semcache.proxy.types import Receive, Scope
from semcache.routing.aliases import Alias, body_under, path_under
from semcache.routing.paths import is_anywhere

_IN_PATH = re.compile(r"/v1(?:beta|alpha)?/models/([^/:]+(?::[^/:]+)?):[A-Za-z]+")
_SHOW = "/api/show"
_LONGEST = 32 << 20
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Plain:
    """A call that is forwarded, with what it needs to go on; `upstream` is "" where nobody named one."""

    scope: Scope
    receive: Receive
    headers: RequestHeaders
    upstream: str


async def renamed(
    scope: Scope, receive: Receive, headers: RequestHeaders, aliases: Mapping[str, Alias]
) -> Plain:
    """Put the model's real name in the place of an alias, and name the alias's upstream unless the client named one.

    Raises:
        RequestError: 408, the body did not arrive in time.
        ClientGone: the client hung up.
    """
    plain = Plain(scope, receive, headers, headers.upstream)
    if not aliases or scope["method"] != "POST":
        return plain
    path: str = scope["path"]
    if found := _IN_PATH.fullmatch(path):
        name = unquote(found[1])
        alias = aliases.get(name)
        return plain if alias is None else _elsewhere(plain, path_under(path, name, alias.model), alias)
    names_one = is_anywhere("POST", path) or path == _SHOW
    if not (names_one and _is_bearable(scope, headers)):
        return plain
    raw = await read_body(receive, headers.content_length, _LONGEST, _SECONDS)
    plain = replace(plain, receive=again(raw, receive))
    try:
        body, _ = parse_object(raw)
    except RequestError:
        return plain  # for the upstream to refuse
    model = body.get("model")
    alias = aliases.get(model) if isinstance(model, str) else None
    if alias is None:
        return plain
    if alias.model != model:
        # Not even with text that is no Unicode is the other model asked.
        raw = dumped(body_under(body, alias.model))
    told = replace(headers, content_length=b"%d" % len(raw))
    return Plain(scope, again(raw, receive), told, headers.upstream or alias.upstream)


def _elsewhere(plain: Plain, path: str, alias: Alias) -> Plain:
    scope = {**plain.scope, "path": unquote(path), "raw_path": path.encode()}
    return replace(plain, scope=scope, upstream=plain.upstream or alias.upstream)


def _is_bearable(scope: Scope, headers: RequestHeaders) -> bool:
    length = headers.content_length
    kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"application/json")
    is_json = kind.partition(b";")[0].strip().lower().endswith(b"json")
    known = length is not None and length.isdigit() and int(length) <= _LONGEST
    return is_json and known and headers.content_encoding is None
