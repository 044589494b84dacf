"""The errors semcache raises, each with the HTTP status and wire words it becomes.

    SemcacheError
    ├── RequestError    the client asked for something wrong or not allowed (4xx)
    ├── PolicyError     a policy file or the configuration is wrong; says file and line
    ├── UpstreamError   the upstream could not be reached or broke its promise (502, 504)
    ├── StoreError      Redis failed, was late, or answered nonsense  ┐ counted, and the
    ├── VectorIndexError the vector index failed                       ├ request goes on
    ├── EncoderError    the encoder failed, was late, or refused      ┘ as a miss
    └── EngineError     the local engine could not serve

A cache fault (the three marked ones) never reaches a client.
"""

from __future__ import annotations


class SemcacheError(Exception):
    """Base of all named errors."""

    status = 500
    type = "server_error"
    code = "internal_error"


class RequestError(SemcacheError):
    """A request that is refused; carries its place in the protocol's own error shape."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        type: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.type = type
        self.code = code or ""
        self.param = param
        self.headers = headers


class PolicyError(SemcacheError):
    """A policy or configuration file is refused; `where` is `file:line` when known."""

    code = "policy_error"

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where


class UpstreamError(SemcacheError):
    """The upstream could not be reached (502), was too late (504), has no room (503) or broke off.

    `untouched`: it cannot have begun to work on the request, so that asking another one costs nothing twice.
    `headers` go to the client with the error.
    """

    status = 502
    type = "upstream_error"
    untouched = False

    def __init__(
        self,
        message: str,
        *,
        status: int = 502,
        code: str = "upstream_unreachable",
        type: str | None = None,
        untouched: bool | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.type = type or self.type
        self.untouched = self.untouched if untouched is None else untouched
        self.headers = headers


class StoreError(SemcacheError):
    """The entry store failed or was late; `kind` is a short word for the metric."""

    code = "store_error"

    def __init__(self, message: str, kind: str = "error") -> None:
        super().__init__(message)
        self.kind = kind


class VectorIndexError(SemcacheError):
    """The vector index failed; `kind` is a short word for the metric."""

    code = "index_error"

    def __init__(self, message: str, kind: str = "error") -> None:
        super().__init__(message)
        self.kind = kind


class EncoderError(SemcacheError):
    """The encoder failed (`error`), was late (`late`), busy (`busy`), or refuses this text.

    `too_long` (the text exceeds the window) and `unknown_script` (mostly unknown tokens) are
    refusals, not faults: the text is never matched on what the encoder did not see.
    """

    code = "encoder_error"

    def __init__(self, message: str, kind: str = "error") -> None:
        super().__init__(message)
        self.kind = kind

    @property
    def is_refusal(self) -> bool:
        """True when the encoder works but this text is not for it."""
        return self.kind in ("too_long", "unknown_script", "empty")


class EngineError(SemcacheError):
    """The local engine could not be started or could not serve."""

    status = 503
    code = "engine_unavailable"
