"""`semcache vectors`: by which encoders stored questions are found, and a change of encoder made ready beforehand.

Talks to the store, beside a running service.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from semcache.cli.options import Config, Data, Json, settings_from
from semcache.cli.screen import wide_console
from semcache.core import EncoderId
from semcache.embed.open import open_encoder
from semcache.parts import encoder_options, open_store
from semcache.renewing import Progress, Renewal
from semcache.renewing_parts import vector_shelf
from semcache.settings import Settings
from semcache.store.embedded import embedded_url
from semcache.store.redis_store import RedisStore
from semcache.store.vector_shelf import VectorShelf

app = typer.Typer(
    help="Vectors of stored questions, and a change of encoder without a gap.", no_args_is_help=True
)
Result = TypeVar("Result")
_DEADLINE = 60.0


@dataclass(frozen=True, slots=True)
class Held:
    """One generation in one tenant: how many entries have its vector, and how many such vectors lie beside entries."""

    tenant: str
    generation: str
    entries: int
    beside: int


@app.command()
def status(data: Data = None, config: Config = None, as_json: Json = False) -> None:
    """Show by which encoders entries are found, and which vectors lie beside them."""
    held, target = _run(settings_from(config, data=data), _counted)
    if as_json:
        typer.echo(json.dumps({"held": [asdict(one) for one in held], "target": target.split()}))
        return
    table = Table("tenant", "encoder", "entries", "beside")
    for one in held:
        aimed = " (in service)" if one.generation in target.split() else ""
        table.add_row(one.tenant, f"{one.generation}{aimed}", f"{one.entries:,}", f"{one.beside:,}")
    wide_console().print(table)


@app.command()
def build(
    latin: Annotated[str | None, typer.Option(help="The next encoder of English text.")] = None,
    multilingual: Annotated[str | None, typer.Option(help="The next encoder of everything else.")] = None,
    data: Data = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Embed all stored questions by the next encoders, beside the running service; run again to go on.

    Then start the proxies with the same encoders (`encoder.latin`, `encoder.multilingual`), one after the other.
    """
    encoders = {name: model for name, model in (("latin", latin), ("multilingual", multilingual)) if model}
    settings = settings_from(config, data=data)
    settings = settings.model_copy(update={"encoder": settings.encoder.model_copy(update=encoders)})
    told = _run(settings, lambda store, shelf: _build(settings, store, shelf, quiet=as_json))
    if as_json:
        typer.echo(json.dumps(asdict(told)))
        return
    typer.echo(
        f"{told.made} vectors made, {told.ready} were there; {told.current} entries have theirs already, "
        f"{told.bound} of conversations are found anew when they are asked again, {told.refused} cannot be read by these encoders"
    )


@app.command()
def drop(
    generation: Annotated[str, typer.Argument(help="An encoder as `status` names it.")],
    data: Data = None,
    config: Config = None,
) -> None:
    """Remove the vectors of an encoder from beside all entries: there is no quick way back to it then."""

    async def work(store: RedisStore, shelf: VectorShelf) -> int:
        count = 0
        for tenant in await store.tenants():
            count += (await shelf.counts(tenant)).get(EncoderId(generation), 0)
            await shelf.drop(tenant, EncoderId(generation))
        return count

    typer.echo(f"{_run(settings_from(config, data=data), work)} vectors removed")


async def _counted(store: RedisStore, shelf: VectorShelf) -> tuple[list[Held], str]:
    held: list[Held] = []
    for tenant in await store.tenants():
        own: Counter[str] = Counter()
        async for entry in store.scan(tenant):
            own[entry.embedding.encoder if entry.embedding else ""] += 1
        beside = await shelf.counts(tenant)
        held += [
            Held(tenant, name or "(none)", own[name], beside.get(EncoderId(name), 0))
            for name in sorted({*own, *beside})
        ]
    return held, (await shelf.target())[0]


async def _build(settings: Settings, store: RedisStore, shelf: VectorShelf, *, quiet: bool) -> Progress:
    total = sum([(await store.counts(tenant)).entries for tenant in await store.tenants()])
    async with AsyncExitStack() as stack:
        encoder = await open_encoder(encoder_options(settings, _DEADLINE))
        stack.push_async_callback(encoder.aclose)
        await encoder.warm()
        renewal = Renewal(store, shelf, encoder)
        console = Console(stderr=True)
        columns = (
            SpinnerColumn(),
            *Bar.get_default_columns()[:-1],
            TextColumn("{task.completed:,}"),
            TimeElapsedColumn(),
        )
        with Bar(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
            task = bar.add_task("embedding stored questions", total=total)
            work = asyncio.ensure_future(renewal.build())
            while not work.done():
                await asyncio.wait([work], timeout=0.2)
                bar.update(task, completed=renewal.progress.seen)
            await work
        return renewal.progress


def _run(settings: Settings, work: Callable[[RedisStore, VectorShelf], Awaitable[Result]]) -> Result:
    async def body() -> Result:
        store, shelf = open_store(settings), vector_shelf(settings.store.url or embedded_url(settings.data))
        try:
            return await work(store, shelf)
        finally:
            await shelf.aclose()
            await store.aclose()

    return asyncio.run(body())
