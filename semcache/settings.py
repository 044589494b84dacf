"""The configuration of a process: flags over environment over file over defaults.

Read by `app` and `cli` only. Unknown keys are errors. Secrets are references (`env:NAME`,
`file:/path`) and are resolved when used, so that a printed configuration shows none.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from semcache.alarming.settings import AlarmSettings
from semcache.errors import PolicyError
from semcache.lookup.settings import IndexSettings
from semcache.routing.checks import check_routes
from semcache.routing.settings import AliasSettings, Name, RouteSettings
from semcache.routing.settings import UpstreamSettings as UpstreamSettings  # noqa: PLC0414 - handed on

Seconds = Annotated[float, Field(gt=0)]


class Strict(BaseModel):
    """Base of all parts: frozen, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EngineSettings(Strict):
    """The local engine, started as a child when no upstream is configured (or when `always`)."""

    model: str = "SmolLM2-135M-Instruct"
    name: str = "local"
    aliases: tuple[str, ...] = ()
    threads: Annotated[int, Field(gt=0)] = 1
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    always: bool = False
    max_queue: Annotated[int, Field(gt=0)] = 64
    max_active: Annotated[int, Field(gt=0)] = 16
    max_context: Annotated[int, Field(ge=16)] | None = None
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto"
    mode: Literal["exact", "fast"] = "exact"
    kv_bytes: Annotated[int, Field(gt=0)] = 1 << 30
    host_bytes: Annotated[int, Field(ge=0)] = 0
    secret: str | None = None


class PrewarmSettings(Strict):
    """Computing prompts that come again and again before they are asked, in the local engine. Times in seconds."""

    enabled: bool = True
    write_every: Seconds = 60.0
    deadline: Seconds = 60.0
    busy: Annotated[int, Field(ge=0)] = 1
    heads: Annotated[int, Field(gt=0, le=1000)] = 64
    tokens: Annotated[int, Field(gt=0)] = 65_536


class EncoderSettings(Strict):
    """Which encoders run and how long a request waits for them."""

    latin: str = "all-MiniLM-L6-v2"
    multilingual: str = "multilingual-e5-small"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    deadline: Seconds = 0.25
    queue: Annotated[int, Field(gt=0)] = 256
    preload: bool = True
    memo: Annotated[int, Field(ge=0)] = 4096


class StoreSettings(Strict):
    """Where entries live: an embedded Valkey in the data directory, or a URL (redis://, rediss://, unix://)."""

    url: str | None = None
    deadline: Seconds = 0.25
    max_bytes: Annotated[int, Field(ge=0)] | None = None
    near_entries: Annotated[int, Field(ge=0)] = 10_000
    near_bytes: Annotated[int, Field(ge=0)] = 64 << 20


class LimitSettings(Strict):
    """What one client may demand."""

    body_bytes: Annotated[int, Field(gt=0)] = 16 << 20
    body_seconds: Seconds = 30.0
    header_seconds: Seconds = 15.0
    header_bytes: Annotated[int, Field(ge=4096)] = 64 << 10
    write_seconds: Seconds = 30.0
    concurrent_requests: Annotated[int, Field(gt=0)] = 2000
    held_bytes: Annotated[int, Field(gt=0)] = 1 << 30
    drain_seconds: Seconds = 30.0


class LedgerSettings(Strict):
    """What is kept of every request: raw rows in files of the data directory, and sums by day in the store."""

    rows: Literal["off", "jsonl", "parquet"] = "jsonl"
    rotate_bytes: Annotated[int, Field(ge=4096)] = 64 << 20
    keep_days: Annotated[int, Field(gt=0, le=36_500)] = 30
    keep_bytes: Annotated[int, Field(gt=0)] = 4 << 30
    book_days: Annotated[int, Field(gt=0, le=3660)] = 400


class LintSettings(Strict):
    """Looking for what keeps prompts from being reused; `share` of one core a worker, at most."""

    enabled: bool = True
    share: Annotated[float, Field(gt=0, le=0.5)] = 0.02


class AdminToken(Strict):
    """Who may review: `secret` is a reference, `tenants` names them, or `*` for all."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    secret: str
    role: Literal["viewer", "reviewer", "operator"]
    tenants: Annotated[tuple[str, ...], Field(min_length=1)]


class AdminSettings(Strict):
    """The reviewers' own listener. Without tokens it takes loopback only, and makes one for an operator.

    `port` None is 8081, or a free one where that is taken; `public_host` is the name that browsers know it by.
    """

    enabled: bool = True
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] | None = None
    public_host: str | None = None
    tokens: tuple[AdminToken, ...] = ()


class Settings(BaseSettings):
    """Everything a process needs to know before it reads its policies."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix="SEMCACHE_",
        env_nested_delimiter="__",
        nested_model_default_partial_update=True,
    )

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    data: Path = Path("semcache-data")
    policies: Path | None = None
    workers: Annotated[int, Field(gt=0, le=64)] = 1
    upstream: str | None = None
    upstreams: dict[Name, UpstreamSettings] = {}
    routes: dict[Name, RouteSettings] = {}
    models: dict[str, AliasSettings] = {}
    default_upstream: str | None = None
    engine: EngineSettings = EngineSettings()
    prewarm: PrewarmSettings = PrewarmSettings()
    encoder: EncoderSettings = EncoderSettings()
    store: StoreSettings = StoreSettings()
    index: IndexSettings = IndexSettings()
    limits: LimitSettings = LimitSettings()
    ledger: LedgerSettings = LedgerSettings()
    admin: AdminSettings = AdminSettings()
    alarms: AlarmSettings = AlarmSettings()
    lint: LintSettings = LintSettings()
    prices: Path | None = None
    metrics_token: str | None = None
    log_requests: bool = True

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order: flags (init), then environment, then the file; nothing from places nobody named."""
        del dotenv_settings, file_secret_settings  # secrets are references, and no file is read unasked
        return (init_settings, env_settings, _FileSource(settings_cls))

    @property
    def all_upstreams(self) -> dict[str, UpstreamSettings]:
        """The configured upstreams, and the one of the `--upstream` flag under the name `upstream`."""
        if self.upstream is None:
            return self.upstreams
        return {**self.upstreams, "upstream": UpstreamSettings(base_url=self.upstream)}

    @property
    def runs_engine(self) -> bool:
        """True when the local engine is started with the proxy."""
        return self.engine.always or not self.all_upstreams

    @property
    def upstream_names(self) -> frozenset[str]:
        """Names of everything that can answer: upstreams, routes, and the local engine when it runs."""
        return frozenset(
            {*self.all_upstreams, *self.routes, *([self.engine.name] if self.runs_engine else [])}
        )

    @property
    def first_upstream(self) -> str:
        """Name of the upstream that answers when a tenant names none."""
        if self.default_upstream:
            return self.default_upstream
        if self.upstream is not None:
            return "upstream"
        return next(iter(self.upstreams), self.engine.name)

    @property
    def is_loopback(self) -> bool:
        """True when only this machine can reach the listener."""
        return self.host in ("127.0.0.1", "::1", "localhost")


class _FileSource(PydanticBaseSettingsSource):
    """The YAML file named by SEMCACHE_CONFIG (the `--config` flag sets it)."""

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        del field
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        path = os.environ.get("SEMCACHE_CONFIG")
        return _read_yaml(Path(path)) if path else {}


def load_settings(flags: dict[str, Any]) -> Settings:
    """Build the settings from flags (None values are not given), environment and file.

    Raises:
        PolicyError: an unreadable file, an unknown key or a bad value; says which and where.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        settings = Settings(**given)
    except ValidationError as error:
        raise PolicyError(_explain(error, ""), os.environ.get("SEMCACHE_CONFIG", "configuration")) from None
    try:
        _check_names(settings)
    except ValidationError as error:
        # The one upstream that is given as a bare URL, by flag or by setting.
        raise PolicyError(_explain(error, "upstream"), "configuration") from None
    return settings


def _check_names(settings: Settings) -> None:
    if settings.first_upstream not in settings.upstream_names:
        known = sorted(settings.upstream_names)
        near = difflib.get_close_matches(settings.first_upstream, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        raise PolicyError(f"default_upstream {settings.first_upstream!r} is not configured; {hint}")
    engine = settings.engine.name if settings.runs_engine else None
    check_routes(settings.all_upstreams, engine, settings.routes, settings.models)


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        # The loader that refuses names that stand twice: the second would silently win.
        loaded = yaml.load(path.read_text(encoding="utf-8"), _Once)  # noqa: S506 - a safe loader, made stricter
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"cannot be read: {error}", str(path)) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise PolicyError(f"is not valid YAML: {getattr(error, 'problem', error)}", where) from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise PolicyError("must be a mapping of settings", str(path))
    return loaded


class _Once(yaml.SafeLoader):
    """Refuses a mapping that names one thing twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen and key.value != "<<":
                raise yaml.MarkedYAMLError(problem=f"{key.value!r} stands twice", problem_mark=key.start_mark)
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else "")
        return super().construct_mapping(node, deep)


def _explain(error: ValidationError, inside: str) -> str:
    """Name every mistake by its setting; values are not repeated, since one may be a secret."""
    found = error.errors()
    places = [item["loc"] for item in found]
    # A list whose items are refused counts as empty too, which says nothing.
    told = [
        item
        for item in found
        if item["type"] != "too_short" or not any(_is_inside(place, item["loc"]) for place in places)
    ]
    return "; ".join(_mistake(item, inside) for item in told)


def _is_inside(place: tuple[int | str, ...], other: tuple[int | str, ...]) -> bool:
    return len(place) > len(other) and place[: len(other)] == other


_KINDS = {
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "missing": "must be given",
}


def _mistake(item: ErrorDetails, inside: str) -> str:
    place, kind, message = item["loc"], item["type"], item["msg"]
    name = inside or ".".join(map(str, place)) or "settings"
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(str(place[-1]), _known(place[:-1]), 1) if place else []
        return f"{name}: there is no such setting{f'; did you mean {near[0]}?' if near else ''}"
    if kind == "literal_error":
        choices = str(item.get("ctx", {}).get("expected", ""))
        words = choices.replace(" or ", ", ").replace("'", "").split(", ")
        near = difflib.get_close_matches(str(item["input"]), words, 1)
        return f"{name}: {f'did you mean {near[0]}? It ' if near else ''}must be one of {', '.join(words)}"
    return f"{name}: {_KINDS.get(kind, message.removeprefix('Value error, '))}"


def _known(place: tuple[int | str, ...]) -> list[str]:
    """Names of the settings at one place."""
    model: type[BaseModel] = Settings
    in_map = False
    for name in place:
        # Keys of a map and numbers in a list stand in the place, and change nothing.
        if in_map or isinstance(name, int):
            in_map = False
            continue
        field = model.model_fields.get(name)
        inside = None if field is None else _model_in(field.annotation)
        if inside is None:
            return []
        model, in_map = inside, get_origin(field.annotation if field else None) is dict
    return list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Give the part that a setting holds, alone or in a list or map."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(inner) for inner in get_args(annotation))
    return next((model for model in found if model is not None), None)


def resolve_secret(reference: str) -> str:
    """Resolve `env:NAME` or `file:/path`; a bare value is refused so that no key stands in a file.

    Raises:
        PolicyError: unknown form, unset variable or unreadable file.
    """
    kind, _, rest = reference.partition(":")
    if kind == "env" and rest:
        value = os.environ.get(rest)
        if not value:
            raise PolicyError(f"the environment variable {rest} is not set")
        return value.strip()
    if kind == "file" and rest:
        try:
            return Path(rest).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise PolicyError(f"the secret file cannot be read: {error}") from None
    raise PolicyError("a secret must be a reference: env:NAME or file:/path")


def key_of(upstream: str, reference: str) -> str:
    """Resolve the key of an upstream.

    Raises:
        PolicyError: it is not there; says whose it is.
    """
    try:
        return resolve_secret(reference)
    except PolicyError as error:
        raise PolicyError(f"upstreams.{upstream}.api_key: {error}") from None
