"""One encoder in service: its model on its worker, its scale, its health.

Knows nothing of scripts; the router chooses between lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from semcache.core import Embedding, EncoderId
from semcache.embed.acceptance import Calibration, calibrate, self_test
from semcache.embed.batcher import Batcher, Limits
from semcache.embed.calibration import CalibrationTable, Scale
from semcache.embed.memo import VectorMemo
from semcache.embed.spec import EncoderSpec, TextModel
from semcache.errors import EncoderError


@dataclass(frozen=True, slots=True)
class Source:
    """Where a lane's model comes from.

    Attributes:
        name: short name, for threads and messages before the model is loaded.
        spec: its identity, where that can be told without loading; else None.
        load: makes it (called on the worker's thread).
        tables: gives the calibration tables that may fit a model of this name.
    """

    name: str
    spec: EncoderSpec | None
    load: Callable[[], TextModel]
    tables: Callable[[str], Sequence[CalibrationTable]]


@dataclass(frozen=True, slots=True)
class LaneHealth:
    """What an operator wants to know of one encoder; `note` is for humans."""

    name: str
    generation: EncoderId | None
    state: str
    runtime: str
    calibrated: bool
    anchor_deviation: float | None
    in_flight: int
    stalled: bool
    note: str


class Lane:
    """One model behind one batcher.

    Args:
        source: the model.
        limits: deadline, queue and so on.
        memo: shared by all lanes.
    """

    def __init__(self, source: Source, limits: Limits, memo: VectorMemo) -> None:
        self._source = source
        self._spec = source.spec
        self._calibration = Calibration(None, "not loaded yet")
        self._batcher = Batcher(self._load, self._generation, limits, memo, source.name)

    @property
    def spec(self) -> EncoderSpec | None:
        """Identity; None only for a model that tells it when loaded, before it is."""
        return self._spec

    @property
    def scale(self) -> Scale | None:
        """The map to the reference scale; None before loading and without a table that fits."""
        return self._calibration.scale

    async def start(self) -> None:
        """Load and check the model.

        Raises:
            EncoderError: it cannot be loaded or fails its self-test.
        """
        await self._batcher.start()

    async def encode(self, text: str, deadline: float | None = None) -> Embedding:
        """Embed a text; see `Batcher.encode`.

        Raises:
            EncoderError: see there.
        """
        vector = await self._batcher.encode(text, deadline)
        return Embedding(vector, self._generation())

    def health(self) -> LaneHealth:
        """Give the present state; never blocks."""
        failure = self._batcher.failure
        return LaneHealth(
            name=self._source.name,
            generation=self._spec.id if self._spec else None,
            state=self._batcher.state,
            runtime=self._spec.runtime if self._spec else "",
            calibrated=self._calibration.scale is not None,
            anchor_deviation=self._calibration.deviation,
            in_flight=self._batcher.in_flight,
            stalled=self._batcher.stalled,
            note=str(failure) if failure else self._calibration.note,
        )

    async def aclose(self) -> None:
        """Stop the worker. Idempotent."""
        await self._batcher.aclose()

    def _generation(self) -> EncoderId:
        if self._spec is None:
            raise EncoderError("the encoder is still loading", kind="loading")
        return self._spec.id

    def _load(self) -> TextModel:
        """Make and check the model; runs on the worker's thread."""
        model = self._source.load()
        if self._source.spec is not None and model.spec.id != self._source.spec.id:
            raise EncoderError(f"the files of {self._source.name} changed while it was in service: restart")
        calibration = calibrate(model, self._source.tables(model.spec.name))
        self_test(model, calibration.scale)
        self._calibration = calibration
        self._spec = model.spec
        return model
