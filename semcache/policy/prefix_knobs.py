"""The `prefix` part of a policy file: what computed prompts the local engine may use again, and for whom.

Knows the knobs, their limits and their built-in defaults; not what becomes of them (`prefix`, `prompts`).
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from semcache.policy.parts import Knobs
from semcache.policy.values import hex_digest

PROMPT_SUFFIXES = (".txt", ".md")
"""Endings of files that hold public messages; no policy file has them."""


def _content_digest(value: str) -> str:
    return hex_digest(value, "(the SHA-256 of the content as UTF-8)")


def _as_public(value: object) -> object:
    return {"sha256": value} if isinstance(value, str) else value


def _prompt_file(value: str) -> str:
    parts = value.split("/")
    plain = all(part and not part.startswith(".") and "\\" not in part for part in parts)
    if not plain or len(parts) > 2 or not value.endswith(PROMPT_SUFFIXES):
        raise ValueError("should name a .txt or .md file of the policy directory, or of a folder in it")
    return value


class PublicMessage(Knobs):
    """A message at the head of prompts that all tenants may share; one of text, file and sha256 names it."""

    text: Annotated[str, Field(min_length=1, max_length=200_000)] | None = Field(
        None, description="Its content, letter by letter."
    )
    file: Annotated[str, AfterValidator(_prompt_file)] | None = Field(
        None,
        description="A .txt or .md file of the policy directory (or of a folder in it) with its content, which counts"
        " with and without the last line break.",
    )
    sha256: Annotated[str, AfterValidator(_content_digest)] | None = Field(
        None,
        description='"sha256:" and the SHA-256 of its content in hex; such a text alone may stand for the entry.',
    )
    role: Literal["system", "any"] = Field(
        "system",
        description="system: as a system or developer message only. any: whoever says it, such as a shared document.",
    )

    @model_validator(mode="after")
    def _is_named_once(self) -> Self:
        if sum(name is not None for name in (self.text, self.file, self.sha256)) != 1:
            raise ValueError("should state one of text, file and sha256")
        return self


class RewriteKnobs(Knobs):
    """What is put in order before a request is hashed and sent on, without changing any JSON value."""

    sort_tools: bool = Field(
        False,
        description="Send tools in the order of their names, unless one carries a mark for the provider's cache or the"
        " choice of a tool names a position.",
    )
    sort_keys: bool = Field(
        False,
        description="Send the JSON of tools with sorted keys; strict tools stay, whose keys say in which order arguments"
        " are written.",
    )


class PrefixKnobs(Knobs):
    """What computed prompts the local engine may use again, and for whom."""

    share: Literal["tenant", "user", "none"] = Field(
        "tenant",
        description="Who may reuse what was computed for a prompt: all callers of the tenant; its system messages all,"
        " and the rest each end user alone; or nobody.",
    )
    public: tuple[Annotated[PublicMessage, BeforeValidator(_as_public)], ...] = Field(
        (),
        max_length=500,
        description="Messages that all tenants may share when prompts begin with them. Only the operator's own file"
        " (tenant default) may name them.",
    )
    reserve_tokens: Annotated[int, Field(strict=True, ge=0)] = Field(
        0, description="Computed tokens of this tenant that others cannot push out."
    )
    max_tokens: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None, description="Computed tokens this tenant may hold at most. null: no limit."
    )
    rewrite: RewriteKnobs = Field(
        default_factory=RewriteKnobs,
        description="What is put in order before a request is hashed and sent on, so that equal tools are equal beginnings.",
    )
