"""What programs made for Ollama ask before they talk to a model: which version, what the model can do, what is loaded. Pure."""

from __future__ import annotations

from typing import Any

import orjson

import semcache
from semcache.errors import RequestError
from semcache.proxy.body import parse_object

VERSION = ("GET", "/api/version")
RUNNING = ("GET", "/api/ps")
SHOW = ("POST", "/api/show")


def version() -> bytes:
    """Give the body that names this program's version."""
    return orjson.dumps({"version": semcache.__version__})


def running() -> bytes:
    """Give the list of loaded models: none, since none has to be loaded or can be let go."""
    return orjson.dumps({"models": []})


def model_in(body: bytes) -> str:
    """Give the model that a request to show one names.

    Raises:
        RequestError: 400, it names none, or is no JSON object.
    """
    asked, _ = parse_object(body)
    name = asked.get("model") or asked.get("name")
    if not isinstance(name, str):
        raise RequestError("'model' must name a model.", param="model")
    return name


def shown(listed: bytes, *, tools: bool) -> bytes:
    """Describe a model as far as its entry of the list says: what else Ollama knows of one (its window, say) nobody said.

    Args:
        listed: the body of its entry in Ollama's list.
        tools: it may be given tools.
    """
    entry: dict[str, Any] = orjson.loads(listed)
    described = {
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": entry["details"],
        "model_info": {"general.architecture": "", "general.basename": entry["name"]},
        "capabilities": ["completion", "tools"] if tools else ["completion"],
        "modified_at": entry["modified_at"],
    }
    return orjson.dumps(described)
