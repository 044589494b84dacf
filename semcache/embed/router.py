"""The Encoder port: routes a text to the encoder that can read it, and counts what goes wrong.

Vectors of the two encoders are never comparable; `Embedding.encoder` keeps them apart.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from semcache.core import Embedding, EncoderId
from semcache.embed import script
from semcache.embed.lane import Lane, LaneHealth
from semcache.embed.memo import VectorMemo
from semcache.embed.script import lane_of
from semcache.embed.spec import name_of
from semcache.embed.vectors import check_text
from semcache.errors import EncoderError

_WIDEST_WINDOW = 1 << 20

OnFault = Callable[[str], None]
"""Told the kind of every EncoderError that leaves `encode`, refusals included."""


class RoutedEncoder:
    """One or two lanes behind the Encoder port; see `open_encoder`, which makes it.

    Args:
        latin: reads English; None when one encoder reads everything.
        multilingual: reads everything else; None when other scripts are refused.
        deadline: seconds one `encode` may take over both lanes together.
        memo: emptied at the end.
        on_fault: see `OnFault`.
    """

    def __init__(
        self,
        latin: Lane | None,
        multilingual: Lane | None,
        deadline: float,
        memo: VectorMemo,
        on_fault: OnFault | None = None,
    ) -> None:
        self._latin = latin
        self._multilingual = multilingual
        self._deadline = deadline
        self._memo = memo
        self._on_fault = on_fault
        self._faults: Counter[str] = Counter()

    async def encode(self, text: str) -> Embedding:
        """Embed one text: float32 [d], unit length, finite, read-only.

        English whose words the Latin encoder does not know (an emoji, a long code) goes to the
        multilingual one; what neither knows is refused.

        Raises:
            EncoderError: `late`, `busy`, `loading`, `error`, `closed`, or a refusal.
        """
        try:
            return await self._encode(text)
        except EncoderError as error:
            self._faults[error.kind] += 1
            if self._on_fault is not None:
                self._on_fault(error.kind)
            raise

    def to_reference(self, encoder: EncoderId, cosine: float) -> float | None:
        """Map a raw cosine to the reference scale; None without a table (or before loading)."""
        lane = self._lane_with(encoder)
        scale = lane.scale if lane else None
        return scale.to_reference(cosine) if scale else None

    def name_of(self, encoder: EncoderId) -> str:
        """Give the short model name of any generation, in service or not."""
        return name_of(encoder)

    def generations(self) -> frozenset[EncoderId]:
        """Give the generations in service, lanes that are not loaded yet included."""
        return frozenset(lane.spec.id for lane in self._lanes() if lane.spec)

    @property
    def roles(self) -> str:
        """The generations by what they read: English first, everything else behind; `-` where none is known."""
        return " ".join(
            lane.spec.id if lane and lane.spec else "-" for lane in (self._latin, self._multilingual)
        )

    def reader(self, text: str) -> EncoderId | None:
        """Give the generation that is asked first to read a text; None where none would be."""
        first, _ = self._choose(text)
        return first.spec.id if first is not None and first.spec else None

    def faults(self) -> Mapping[str, int]:
        """Give how often each kind of error has left `encode`."""
        return dict(self._faults)

    def health(self) -> tuple[LaneHealth, ...]:
        """Give the state of each lane; never blocks."""
        return tuple(lane.health() for lane in self._lanes())

    def is_awake(self, text: str) -> bool:
        """True when the encoder that would read a text is loaded, or on its way; loads nothing."""
        first, _ = self._choose(text)
        return first is not None and first.health().state != "idle"

    async def warm(self) -> None:
        """Load every lane that is not loaded yet, and wait for it.

        Raises:
            EncoderError: one cannot be loaded.
        """
        for lane in self._lanes():
            await lane.start()

    async def aclose(self) -> None:
        """Stop all lanes. Idempotent."""
        for lane in self._lanes():
            await lane.aclose()
        self._memo.clear()

    async def _encode(self, text: str) -> Embedding:
        began = time.monotonic()
        check_text(text, _WIDEST_WINDOW)
        first, second = self._choose(text)
        if first is None:
            raise EncoderError("no encoder for this script is configured", kind="unknown_script")
        try:
            return await first.encode(text, self._deadline)
        except EncoderError as error:
            if error.kind != "unknown_script" or second is None:
                raise
        return await second.encode(text, self._deadline - (time.monotonic() - began))

    def _choose(self, text: str) -> tuple[Lane | None, Lane | None]:
        """The lane to ask, and the one to ask if the first does not know the text's tokens."""
        if self._latin is None:
            return self._multilingual, None
        match lane_of(text):
            case script.Lane.LATIN:
                return self._latin, self._multilingual
            case script.Lane.MULTILINGUAL:
                return self._multilingual, None

    def _lane_with(self, encoder: EncoderId) -> Lane | None:
        return next((lane for lane in self._lanes() if lane.spec and lane.spec.id == encoder), None)

    def _lanes(self) -> Sequence[Lane]:
        return tuple(lane for lane in (self._latin, self._multilingual) if lane)
