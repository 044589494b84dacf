"""What can be wrong with a review: named refusals, each with its status and a stable word.

The words end up in the `type` of a problem document (RFC 9457). No message holds a prompt, an answer or a secret.
"""

from __future__ import annotations

from semcache.core import Entry
from semcache.errors import RequestError


class ReviewError(RequestError):
    """A refusal; `code` is the stable word."""


class NotThereError(ReviewError):
    """No such thing, or another tenant's: one answer for both."""

    def __init__(self, what: str = "entry") -> None:
        super().__init__(f"There is no such {what}.", status=404, code="not-found")


class ForbiddenError(ReviewError):
    """The token's role does not reach."""

    def __init__(self, needed: str) -> None:
        super().__init__(f"This needs the role {needed}.", status=403, code="forbidden")
        self.needed = needed


class ConflictError(ReviewError):
    """The entry is not any more what the reviewer looked at; `present` is what stands there now."""

    def __init__(self, present: Entry | None, etag: str) -> None:
        super().__init__(
            "The entry has changed since it was read; look at it again.", status=412, code="stale-etag"
        )
        self.present = present
        self.etag = etag


class SelectionChangedError(ReviewError):
    """What a filter finds is not what the dry run found."""

    def __init__(self, digest: str) -> None:
        super().__init__(
            "The selection is not the one of the dry run; make a new one.",
            status=409,
            code="selection-changed",
        )
        self.digest = digest


class TooLargeError(ReviewError):
    """The edited answer is larger than the policy lets entries be."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The entry would be larger than {limit} bytes (max_entry_bytes).", status=413, code="too-large"
        )


class UnfitError(ReviewError):
    """The change does not fit this entry, or a value is none; `code` says how."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message, status=422, code=code, param=param)
