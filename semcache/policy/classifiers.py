"""The classifiers of all tenants, built from their exemplars with the encoder in service.

Equal specifications share one classifier. Building takes a few milliseconds an exemplar and
happens beside the traffic; until an encoder's exemplars are in, nobody can say that a question
of that encoder is *not* of a stricter domain, and this room says so. Knows no HTTP and no store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from semcache.core import Embedding, EncoderId, TenantId
from semcache.errors import EncoderError
from semcache.policy.classify import Classifier
from semcache.policy.domain import ClassifierSpec
from semcache.policy.snapshot import PolicySnapshot
from semcache.ports import Encoder

_PAUSE = 0.1
_PATIENCE = 60.0
"""Seconds an exemplar is tried again before it is given up."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """What a classifier says of a question: a domain, or None for an ordinary one."""

    domain: str | None


@dataclass(slots=True)
class _Built:
    """A classifier in the making: complete for the encoders in `covered`."""

    classifier: Classifier | None = None
    covered: set[EncoderId] = field(default_factory=set)
    complete: bool = False
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the classifier can speak for at least one encoder."""


class Classifiers:
    """Gives the domain of an embedded question, by the rules of its tenant.

    Args:
        encoder: embeds the exemplars.
        spawn: starts a task that the owner ends.
    """

    def __init__(
        self,
        encoder: Encoder,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._encoder = encoder
        self._spawn = spawn
        self._built: dict[ClassifierSpec, _Built] = {}

    def domain_of(self, snapshot: PolicySnapshot, tenant: TenantId, embedding: Embedding) -> Assigned | None:
        """Give the domain of a question; None while that cannot be said yet."""
        spec = snapshot.classifier(tenant)
        if spec is None:
            return Assigned(None)
        built = self._built.get(spec)
        if built is None:
            self._begin(spec)
            return None
        if built.classifier is None or not (built.complete or embedding.encoder in built.covered):
            return None
        return Assigned(built.classifier.domain_of(embedding.vector, embedding.encoder))

    def is_complete(self, snapshot: PolicySnapshot) -> bool:
        """True when every tenant's classifier knows all its exemplars."""
        specs = [snapshot.classifier(tenant) for tenant in snapshot.tenants]
        return all(spec is None or (spec in self._built and self._built[spec].complete) for spec in specs)

    async def prepare(self, snapshot: PolicySnapshot, patience: float) -> None:
        """Build what a snapshot needs, and wait for the first encoder's part of it.

        Args:
            snapshot: the policies in force.
            patience: seconds to wait at most; building goes on after that.
        """
        specs = {spec for tenant in snapshot.tenants if (spec := snapshot.classifier(tenant)) is not None}
        for spec in specs:
            if spec not in self._built:
                self._begin(spec)
        try:
            async with asyncio.timeout(patience):
                for spec in specs:
                    await self._built[spec].begun.wait()
        except TimeoutError:
            return

    def _begin(self, spec: ClassifierSpec) -> None:
        built = self._built[spec] = _Built()
        self._spawn(self._build(spec, built))

    async def _build(self, spec: ClassifierSpec, built: _Built) -> None:
        """Embed all exemplars; those whose encoder is still loading come in a second round."""
        texts = [(name, text) for name, group in spec.exemplars for text in group]
        found: list[tuple[str, Embedding]] = []
        late = await self._embed(texts, found, patience=0.0)
        self._set(spec, built, found)
        await self._embed(late, found, patience=_PATIENCE)
        self._set(spec, built, found)
        built.complete = True

    def _set(self, spec: ClassifierSpec, built: _Built, found: list[tuple[str, Embedding]]) -> None:
        built.classifier = Classifier.from_embeddings(found, spec.min_similarity, spec.margin)
        built.covered = {embedding.encoder for _, embedding in found}
        built.begun.set()

    async def _embed(
        self, texts: list[tuple[str, str]], found: list[tuple[str, Embedding]], patience: float
    ) -> list[tuple[str, str]]:
        """Embed one after the other, so that live questions get between; gives what did not succeed."""
        left: list[tuple[str, str]] = []
        for name, text in texts:
            embedding = await self._try(text, patience)
            if embedding is None:
                left.append((name, text))
            else:
                found.append((name, embedding))
        return left

    async def _try(self, text: str, patience: float) -> Embedding | None:
        waited = 0.0
        while True:
            try:
                return await self._encoder.encode(text)
            except EncoderError as error:
                if error.is_refusal or waited >= patience:
                    return None
            await asyncio.sleep(_PAUSE)
            waited += _PAUSE
