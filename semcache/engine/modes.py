"""How a model may be loaded: words shared by the command line and the loader. Imports no torch."""

from __future__ import annotations

from enum import StrEnum


class Precision(StrEnum):
    """How weights and activations are kept; AUTO is bf16 on CUDA and fp32 elsewhere."""

    AUTO = "auto"
    FP32 = "fp32"
    BF16 = "bf16"
    INT8 = "int8"


class Mode(StrEnum):
    """EXACT promises bits (see `forward.Exactness`), FAST nothing."""

    EXACT = "exact"
    FAST = "fast"
