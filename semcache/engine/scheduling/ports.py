"""What scheduling asks of its neighbours, in the smallest words that do."""

from __future__ import annotations

from typing import Protocol

from semcache.engine.forward import Network
from semcache.engine.vocabulary import Vocabulary


class Model(Protocol):
    """What a loaded model folder gives; `context` in tokens, prompt and answer together."""

    @property
    def network(self) -> Network:
        """Run forward passes."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """Turn tokens into bytes."""
        ...

    @property
    def ends(self) -> frozenset[int]:
        """Give the ids that finish an answer."""
        ...

    @property
    def context(self) -> int:
        """Give the largest number of tokens of prompt and answer together."""
        ...

    @property
    def vocabulary_size(self) -> int:
        """Give the width of a row of logits."""
        ...

    @property
    def fingerprint(self) -> str:
        """Name all that decides about the values of keys and logits."""
        ...
