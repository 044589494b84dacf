"""Names of models that stand for others: resolved before anything is keyed by the model. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from semcache.core import ChatRequest, JsonObject

_TUNED = "tunedModels"
_NAMED = re.compile(rf"/(models|{_TUNED})/([^/]+):(?=[^/:]+$)")


@dataclass(frozen=True, slots=True)
class Alias:
    """What a name stands for: `model`, and the upstream or route that answers ("": as without the alias)."""

    model: str
    upstream: str = ""


def effective(request: ChatRequest, aliases: Mapping[str, Alias]) -> tuple[ChatRequest, str]:
    """Give the request under the model's real name, and the upstream that the alias names ("": none).

    One step: what an alias stands for is not looked up again. A request without an alias is given back as it is.
    """
    alias = aliases.get(request.model)
    if alias is None:
        return request, ""
    if alias.model == request.model:
        return request, alias.upstream
    native = request.native
    return replace(
        request,
        model=alias.model,
        path=path_under(request.path, request.model, alias.model),
        body=body_under(request.body, alias.model),
        native=None if native is None else body_under(native, alias.model),
        # What was keyed under the other name must not be found again.
        keys={},
    ), alias.upstream


def body_under(body: JsonObject, model: str) -> JsonObject:
    """Give a body that names another model, its fields in the same order; one that names none stays as it is."""
    return {name: model if name == "model" else value for name, value in body.items()}


def path_under(path: str, said: str, model: str) -> str:
    """Give the path that names another model, where paths name one (Gemini: `/v1beta/models/NAME:verb`).

    However the path spells the name: one that is only found in one spelling would let a client reach what it names.
    """
    found = _NAMED.search(path)
    if found is None:
        return path
    name = unquote(found[2], errors="surrogateescape")
    if said not in (name, found[2], f"{found[1]}/{name}"):
        return path
    kind, _, tuned = model.partition("/")
    root = (_TUNED, tuned) if kind == _TUNED else ("models", model.removeprefix("models/"))
    coded = quote(root[1], safe="", errors="surrogatepass")
    return f"{path[: found.start()]}/{root[0]}/{coded}:{path[found.end() :]}"
