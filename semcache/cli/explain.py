"""`semcache explain`: asks a running proxy on this machine how it would decide a question, and why."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.markup import escape
from rich.table import Table

from semcache.cli.options import Json
from semcache.cli.screen import wide_console
from semcache.errors import SemcacheError

_TIMEOUT = 10.0
_CHAT = "/v1/chat/completions"
_MESSAGES = "/v1/messages"


def explain(
    question: Annotated[str, typer.Argument(help="The user's question.")] = "",
    request: Annotated[
        Path | None,
        typer.Option(
            help="File with a whole request body as JSON, instead of a question. All its fields count."
        ),
    ] = None,
    path: Annotated[
        str,
        typer.Option(help="Where the request of --request would go, as in /v1/messages or /api/chat."),
    ] = _CHAT,
    header: Annotated[
        list[str] | None,
        typer.Option(
            help="A header that the request would carry, as in 'anthropic-version: 2023-06-01'; again for more."
        ),
    ] = None,
    model: Annotated[str, typer.Option(help="The model the request would name.")] = "local",
    system: Annotated[str, typer.Option(help="The system prompt the request would carry.")] = "",
    domain: Annotated[str, typer.Option(help="Ask for this (stricter) domain.")] = "",
    url: Annotated[str, typer.Option(help="The running proxy.")] = "http://127.0.0.1:8080",
    key: Annotated[
        str,
        typer.Option(
            help="API key that the client sends: answers are kept apart by key.", envvar="SEMCACHE_KEY"
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Show the decision for a question without answering, asking or storing anything."""
    if bool(question) == (request is not None):
        raise typer.BadParameter("give a question, or --request FILE")
    if question and path != _CHAT:
        raise typer.BadParameter("--path goes with --request FILE")
    headers = {"content-type": "application/json"}
    if path == _MESSAGES:
        # None is answered without one, and another version is another request: the official client may send another.
        headers["anthropic-version"] = "2023-06-01"
    headers |= dict(map(_header, header or ()))
    if key:
        headers["authorization"] = f"Bearer {key}"
    if domain:
        headers["semcache-domain"] = domain
    body = _read(request) if request is not None else _body(question, system, model)
    where = f"{url.rstrip('/').removesuffix('/v1')}/semcache/explain"
    told = _post(where if path == _CHAT else f"{where}?path={quote(path, safe='/')}", body, headers)
    if as_json:
        typer.echo(json.dumps(told, ensure_ascii=False))
        return
    table = Table(show_header=False, box=None)
    for name, value in told.items():
        table.add_row(name.replace("_", " "), escape(_shown(value)))
    wide_console().print(table)


def _header(text: str) -> tuple[str, str]:
    name, found, value = text.partition(":")
    if not (found and name.strip()):
        raise typer.BadParameter("--header is NAME: VALUE")
    return name.strip().lower(), value.strip()


def _body(question: str, system: str, model: str) -> bytes:
    messages = [{"role": "user", "content": question}]
    if system:
        messages.insert(0, {"role": "system", "content": system})
    return json.dumps({"model": model, "messages": messages}).encode()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SemcacheError(f"{path} cannot be read: {error.strerror}") from None


def _shown(value: Any) -> str:
    match value:
        case None | "" | []:
            return "-"
        case float():
            return f"{value:.4f}".rstrip("0").rstrip(".")
        case list():
            return ", ".join(map(str, value))
        case _:
            return str(value)


def _post(url: str, body: bytes, headers: dict[str, str]) -> dict[str, Any]:
    if not url.startswith(("http://", "https://")):
        raise SemcacheError(
            f"--url must begin with http:// or https://, as in http://{url.partition('/')[0]}"
        )
    request = urllib.request.Request(url, body, headers)  # noqa: S310 - scheme checked above
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as reply:  # noqa: S310 - scheme checked above
            told: dict[str, Any] = json.load(reply)
            return told
    except urllib.error.HTTPError as error:
        raise SemcacheError(f"the proxy refused with {error.code}: {_message(error.read())}") from None
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise SemcacheError(
            f"no proxy answers at {url} ({reason}); start one with: semcache serve, or name it by --url"
        ) from None


def _message(body: bytes) -> str:
    """Give the words of an error in the protocol's shape, else the body itself."""
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:200]
