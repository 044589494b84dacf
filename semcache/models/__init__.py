"""Models that come inside ordinary Python packages: fetch, convert once, keep, find.

The public face is what is exported here. Each converted model is a folder with a manifest
(`manifest.py` documents the format), which the encoder and the engine read by themselves.

Does NOT know: how a model is run.
"""

from __future__ import annotations

from semcache.models.catalogue import ModelState, ModelStatus, resolve, status
from semcache.models.errors import ModelError
from semcache.models.fetch import fetch
from semcache.models.manifest import ModelManifest, load_manifest
from semcache.models.options import Options, user_cache
from semcache.models.packaged import PACKAGED, PackagedModel
from semcache.models.progress import Progress

__all__ = [
    "PACKAGED",
    "ModelError",
    "ModelManifest",
    "ModelState",
    "ModelStatus",
    "Options",
    "PackagedModel",
    "Progress",
    "fetch",
    "load_manifest",
    "resolve",
    "status",
    "user_cache",
]
