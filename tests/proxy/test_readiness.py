"""The page that load balancers ask: what it says, with which status, and to whom."""

from __future__ import annotations

from typing import Any, cast

import httpx
import pytest

from semcache.pipeline import Pipeline
from semcache.policy.loader import load_default
from semcache.proxy.admission import Admission
from semcache.proxy.own import OwnParts, Readiness, own_app


async def no_metrics() -> bytes:
    return b""


async def asked(readiness: Readiness, path: str, host: str) -> tuple[int, Any]:
    snapshot = load_default()
    parts = OwnParts(
        readiness=lambda: readiness,
        metrics=no_metrics,
        metrics_type="text/plain",
        pipeline=cast("Pipeline", None),  # only explain asks it
        admission=Admission(lambda: snapshot),
        new_request_id=lambda: "req_1",
    )
    transport = httpx.ASGITransport(app=own_app(parts), client=(host, 1234))
    async with httpx.AsyncClient(transport=transport, base_url="http://proxy") as client:
        reply = await client.get(path)
    return reply.status_code, reply.json()


@pytest.mark.parametrize("path", ["/readyz", "/health/readiness"])
@pytest.mark.parametrize(
    ("readiness", "status", "word"),
    [
        (Readiness(True, (), {"starting": ()}), 200, "ready"),
        (Readiness(True, ("store",), {"starting": ()}), 200, "degraded"),
        (Readiness(False, (), {"starting": ("index",)}), 503, "starting"),
        (Readiness(False, ("encoder",), {"starting": ("index",)}), 503, "starting"),
    ],
)
async def test_what_it_says(readiness: Readiness, status: int, word: str, path: str) -> None:
    near = {
        "status": word,
        "degraded": list(readiness.degraded),
        "starting": list(readiness.detail["starting"]),
    }
    assert await asked(readiness, path, "127.0.0.1") == (status, near)
    assert await asked(readiness, path, "10.0.0.9") == (status, {"status": word})
