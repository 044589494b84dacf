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

_PAUSE = 0.5
_PATIENCE = 60.0
"""Seconds that exemplars of an encoder that is awake are tried again before they are given up."""


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
    waiting: list[tuple[str, str]] = field(default_factory=list)
    """Exemplars, with their classes, that are not embedded yet."""
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the classifier can speak for at least one encoder."""


class Classifiers:
    """Gives the domain of an embedded question, by the rules of its tenant.

    Args:
        encoder: embeds the exemplars.
        spawn: starts a task that the owner ends.
        awake: whether the encoder of a text is loaded, or on its way; exemplars wake none up.
    """

    def __init__(
        self,
        encoder: Encoder,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        awake: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._encoder = encoder
        self._spawn = spawn
        self._awake = awake
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
        """True when every tenant's classifier knows its exemplars of all encoders that are awake."""
        specs = [spec for tenant in snapshot.tenants if (spec := snapshot.classifier(tenant)) is not None]
        return all(spec in self._built and self._is_done(self._built[spec]) for spec in specs)

    def _is_done(self, built: _Built) -> bool:
        asleep = built.begun.is_set() and not any(self._awake(text) for _, text in built.waiting)
        return built.complete or asleep

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
        """Embed all exemplars: English ones first, since a start waits for them; the others as they can be."""
        texts = [(name, text) for name, group in spec.exemplars for text in group]
        found: list[tuple[str, Embedding]] = []
        left = await self._embed([item for item in texts if item[1].isascii()], found)
        built.waiting = left + [item for item in texts if not item[1].isascii()]
        self._speak(spec, built, found)
        failing = 0.0
        while built.waiting and failing < _PATIENCE:
            if any(self._awake(text) for _, text in built.waiting):
                built.waiting = await self._embed(built.waiting, found)
                self._speak(spec, built, found)
                failing += _PAUSE
            if built.waiting:
                await asyncio.sleep(_PAUSE)
        built.complete = True

    def _speak(self, spec: ClassifierSpec, built: _Built, found: list[tuple[str, Embedding]]) -> None:
        """Let the classifier speak for the encoders whose exemplars were found."""
        built.classifier = Classifier.from_embeddings(found, spec.min_similarity, spec.margin)
        built.covered = {embedding.encoder for _, embedding in found}
        built.begun.set()

    async def _embed(
        self, texts: list[tuple[str, str]], found: list[tuple[str, Embedding]]
    ) -> list[tuple[str, str]]:
        """Embed one after the other, so that live questions get between; gives what has to wait."""
        left: list[tuple[str, str]] = []
        for name, text in texts:
            if not self._awake(text):
                left.append((name, text))
                continue
            try:
                found.append((name, await self._encoder.encode(text)))
            except EncoderError as error:
                if not error.is_refusal:
                    left.append((name, text))
        return left
