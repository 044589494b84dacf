"""Makes the encoder of a process from what the settings say.

The only place that knows where models lie and which runtime fits the machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from semcache.embed.batcher import Limits
from semcache.embed.calibration import CalibrationTable, find_tables
from semcache.embed.lane import Lane, Source
from semcache.embed.manifest import read_manifest
from semcache.embed.memo import VectorMemo
from semcache.embed.onnx_encoder import OnnxModel, onnx_spec
from semcache.embed.router import OnFault, RoutedEncoder
from semcache.embed.spec import TextModel
from semcache.embed.st_encoder import SentenceTransformerModel, cuda_usable
from semcache.errors import EncoderError


@dataclass(frozen=True, slots=True)
class EncoderOptions:
    """What an installation chooses. Models are folders (converted or not) or hub names.

    Attributes:
        latin: reads English; None: `multilingual` reads everything.
        multilingual: reads all other scripts and languages; None: they are refused.
        device: `auto` is CUDA when the machine shows a device and torch can use it.
        latin_prefix: put before each text of a model without manifest; None: the model's own.
        multilingual_prefix: likewise.
        preload: load the multilingual encoder at start instead of at the first text for it
            (until it is there such texts are refused as `loading`). A late load saves some 400 MB
            where no such text ever comes, and holds the interpreter (every request) for about half
            a second of CPU time where one does: tokenizer and session are built under its lock.
        max_batch: texts a pass on CUDA.
        memo_entries: vectors of recent texts kept.
        memo_bytes: bytes they may take.
        limits: deadline, queue and so on.
    """

    latin: str | None
    multilingual: str | None
    device: Literal["auto", "cpu", "cuda"] = "auto"
    latin_prefix: str | None = None
    multilingual_prefix: str | None = None
    preload: bool = False
    max_batch: int = 32
    memo_entries: int = 4096
    memo_bytes: int = 16 << 20
    limits: Limits = field(default_factory=Limits)


async def open_encoder(options: EncoderOptions, on_fault: OnFault | None = None) -> RoutedEncoder:
    """Make the encoder; gives it loaded, except for a lazily loaded multilingual lane.

    Raises:
        EncoderError: no model is named, one cannot be loaded, or one fails its self-test: the
            semantic path must stay closed.
    """
    device = _device(options.device)
    memo = VectorMemo(options.memo_entries, options.memo_bytes)
    sources = (
        model_source(options.latin, options.latin_prefix, device, options.max_batch),
        model_source(options.multilingual, options.multilingual_prefix, device, options.max_batch),
    )
    latin, multilingual = (Lane(source, options.limits, memo) if source else None for source in sources)
    if latin is None and multilingual is None:
        raise EncoderError("no encoder is configured")
    encoder = RoutedEncoder(latin, multilingual, options.limits.deadline, memo, on_fault)
    try:
        for lane in (latin, multilingual):
            if lane is not None and (lane is latin or latin is None or options.preload or lane.spec is None):
                await lane.start()
    except EncoderError:
        await encoder.aclose()
        raise
    return encoder


def has_cuda_device() -> bool:
    """True when the machine shows an NVIDIA device; imports nothing."""
    return any(Path("/dev").glob("nvidia[0-9]*"))


def _device(wanted: Literal["auto", "cpu", "cuda"]) -> Literal["cpu", "cuda"]:
    match wanted:
        case "cpu":
            return "cpu"
        case "auto":
            return "cuda" if has_cuda_device() and cuda_usable() else "cpu"
        case "cuda":
            if not (has_cuda_device() and cuda_usable()):
                raise EncoderError("device cuda was asked for, and torch finds none")
            return "cuda"


def model_source(
    model: str | None, prefix: str | None, device: Literal["cpu", "cuda"], max_batch: int = 32
) -> Source | None:
    """Tell how a model is loaded: by ONNX Runtime when converted and on CPU, else by sentence-transformers.

    Args:
        model: folder or hub name; None gives None.
        prefix: see `EncoderOptions`; a manifest's own prefix goes before it.
        device: where it is to run.
        max_batch: texts a pass on CUDA.

    Raises:
        EncoderError: the folder is missing or broken.
    """
    if model is None:
        return None
    folder = Path(model).expanduser()
    if not folder.is_dir():
        if folder.is_absolute() or model.startswith((".", "~")):
            raise EncoderError(f"there is no model folder {model}")
        name = model.rpartition("/")[2]
        load = partial(SentenceTransformerModel, model, device, name=name, prefix=prefix, max_batch=max_batch)
        return Source(name, None, load, partial(_tables, None))
    manifest = read_manifest(folder)
    if manifest is None:
        load = partial(
            SentenceTransformerModel,
            str(folder),
            device,
            name=folder.name,
            prefix=prefix,
            max_batch=max_batch,
        )
        return Source(folder.name, None, load, partial(_tables, folder))
    encoder = manifest.encoder
    if device == "cuda" and encoder.st is not None:
        load = partial(
            SentenceTransformerModel,
            str(folder / encoder.st),
            device,
            name=manifest.name,
            prefix=encoder.prefix,
            max_batch=max_batch,
        )
        return Source(manifest.name, None, load, partial(_tables, folder))
    return Source(manifest.name, onnx_spec(folder), partial(_onnx, folder), partial(_tables, folder))


def _onnx(folder: Path) -> TextModel:
    return OnnxModel(folder)


def _tables(folder: Path | None, name: str) -> list[CalibrationTable]:
    return find_tables(name, folder)
