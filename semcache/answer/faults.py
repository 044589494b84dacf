"""Finer kinds of `UpstreamError`, for deciding about a second try; nobody outside needs them."""

from __future__ import annotations

from semcache.errors import UpstreamError


class ConnectError(UpstreamError):
    """No connection came about; counts for the circuit breaker."""

    untouched = True


class RetryableError(UpstreamError):
    """Failed before any byte of the request can have been answered."""


class RetryableConnectError(ConnectError, RetryableError):
    """No connection came about, and at once: worth a second try."""
