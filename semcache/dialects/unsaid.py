"""Refusals of what a backend cannot be asked, in words that say what to do instead. Pure."""

from __future__ import annotations

from semcache.core import ChatRequest
from semcache.errors import RequestError

_EMBEDDINGS = "openai.embeddings"
_RESPONSES = "openai.responses"
_COMPLETIONS = "openai.completions"
_SHOWN = 5
"""Fields that a message names at most."""
_INSTEAD = {
    "previous_response_id": "Send the conversation's earlier items in 'input' instead",
    "conversation": "Send the conversation's earlier items in 'input' instead",
    "context": "Send the conversation to /api/chat instead",
}


class NothingAsked(RequestError):  # noqa: N818 - no fault: there is nothing that a model could say
    """A request of an Ollama client that only loads a model or lets it go, for a backend that needs no loading."""


def refusal(request: ChatRequest, backend: str) -> RequestError:
    """Say why a backend cannot be asked this; `request.unsayable` is not empty."""
    names = request.unsayable
    if request.uncacheable == "load":
        return NothingAsked(f"The upstream '{backend}' needs no loading.", param=names[0])
    other = "name an upstream that does in the header 'Semcache-Upstream'"
    if request.dialect == _EMBEDDINGS:
        message = f"The upstream '{backend}' makes no embeddings; {other}."
        return RequestError(message, code="unsupported_parameter", param=names[0])
    if request.dialect == _RESPONSES and names[0] == "input":
        message = "'input' must be a text or a non-empty array of items that messages can hold."
        return RequestError(message, code="unsupported_parameter", param="input")
    message = f"The upstream '{backend}' does not speak this API ({request.dialect}); it is asked for chat completions"
    if request.dialect == _COMPLETIONS and names[0] == "prompt":
        message += f", which answer one text. Send one text in each request, or {other}."
    else:
        listed = ", ".join(f"'{name}'" for name in names[:_SHOWN]) + (" ..." if len(names) > _SHOWN else "")
        end = "" if len(names) > _SHOWN else "."
        leave = _INSTEAD.get(names[0], f"Leave {'it' if len(names) == 1 else 'them'} out")
        message += f", which have nothing for {listed}{end} {leave}, or {other}."
    return RequestError(message, code="unsupported_parameter", param=names[0])
