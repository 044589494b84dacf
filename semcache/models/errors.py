"""The one error of this room.

None of the eight classes of `semcache.errors` fits: it is no policy file, no running encoder and no
running engine that fails, but the preparation of one. It is raised by commands, never by a request.
"""

from __future__ import annotations

from semcache.errors import SemcacheError


class ModelError(SemcacheError):
    """A packaged model could not be fetched, converted, verified or found; says what to do next."""

    code = "model_error"
