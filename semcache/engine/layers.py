"""Whose tokens are whose: the layers of a prompt, from public head to private tail.

An owner is named by an opaque key that the operator's side makes (the proxy derives it from the
authenticated tenant and a secret); nothing that a client writes can name another's. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Owner:
    """Who may reuse a token's KV: everybody who shows the same owner and the same tokens before it.

    `tenant` is what limits and statistics are counted on ("" for the public). `salt` keeps owners
    apart and enters every prefix digest; two owners of one tenant (its shared part, and one user's
    private part) differ in their salt alone.
    """

    tenant: str
    salt: bytes

    @property
    def is_public(self) -> bool:
        """True for tokens that all tenants may share."""
        return not self.tenant and not self.salt


PUBLIC = Owner("", b"")
"""Prefixes that the operator registered as shared by everybody."""

NOBODY = Owner("local", b"local")
"""Who owns what arrives without any word about owners: one user of an engine that stands alone."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Tokens from the end of the layer before up to position `end` belong to `owner`."""

    end: int
    owner: Owner


Layers = tuple[Layer, ...]
"""Layers of one prompt, `end` strictly growing; tokens behind the last end belong to its owner, too."""


def owner_at(layers: Layers, position: int) -> Owner:
    """Give the owner of the token at `position`."""
    for layer in layers:
        if position < layer.end:
            return layer.owner
    return layers[-1].owner if layers else NOBODY


def next_boundary(layers: Layers, position: int) -> int | None:
    """Give the first layer border behind `position`, or None when none follows."""
    for layer in layers[:-1]:
        if layer.end > position:
            return layer.end
    return None


def aligned(layers: Layers, grid: int) -> Layers:
    """Round inner borders down to multiples of `grid`: what is cut off falls to the next, more private layer."""
    if grid == 1:
        return layers
    kept: list[Layer] = []
    for layer in layers[:-1]:
        end = layer.end - layer.end % grid
        if end > (kept[-1].end if kept else 0):
            kept.append(Layer(end, layer.owner))
    return (*kept, *layers[-1:])
