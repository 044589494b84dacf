"""Reads `semcache-model.json`, the note a converted model folder carries about itself.

Knows the format only; loads no weights and trusts no path that leaves the folder.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from semcache.errors import EncoderError

FILE_NAME = "semcache-model.json"


def _inside(path: str) -> str:
    """Refuse a path that leads out of the model folder."""
    parts = PurePosixPath(path)
    if not path or parts.is_absolute() or ".." in parts.parts or "\\" in path:
        raise ValueError("must be a relative path inside the model folder")
    return path


InnerPath = Annotated[str, AfterValidator(_inside)]


class EncoderSection(BaseModel):
    """How texts become vectors. `window` counts tokens, special ones and prefix included."""

    model_config = ConfigDict(frozen=True)

    dim: int = Field(gt=0, le=65536)
    window: int = Field(gt=2)
    pooling: Literal["mean", "cls"]
    normalise: bool
    prefix: str = ""
    onnx: InnerPath
    tokenizer: InnerPath
    st: InnerPath | None = None
    inputs: tuple[Literal["input_ids", "attention_mask", "token_type_ids"], ...] = Field(min_length=1)
    output: str
    unknown_id: int | None = None
    pad_id: int = 0


class Manifest(BaseModel):
    """The whole note; unknown keys are ignored, another format or kind is refused."""

    model_config = ConfigDict(frozen=True)

    format: Literal[1]
    kind: Literal["encoder"]
    name: str = Field(min_length=1, max_length=200, pattern=r"^[^@\s]+$")
    encoder: EncoderSection


def read_manifest(folder: Path) -> Manifest | None:
    """Read the note of a folder; None when the folder has none.

    Raises:
        EncoderError: it is unreadable, of another format, or not of an encoder.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        return None
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise EncoderError(f"cannot read {path}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise EncoderError(f"{path}: {where}: {first['msg']}") from error
