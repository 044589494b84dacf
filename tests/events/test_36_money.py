"""Usage and prices that are none: the answer passes, the money is unknown, no sum is broken."""

from __future__ import annotations

import json
import math

import pytest

from tests.e2e.running import Proxy
from tests.events.answers import chat_whole
from tests.fakes.upstream_server import (
    JSON_TYPE,
    SSE_TYPE,
    UpstreamServer,
    chat_chunks,
    reply,
    sse_bytes,
    stream,
)

BIG = 10**30
ODD = {
    "missing": "",
    "null": "null",
    "a list": "[]",
    "words": '{"prompt_tokens": "many", "completion_tokens": "few"}',
    "nulls": '{"prompt_tokens": null, "completion_tokens": null, "total_tokens": null}',
    "negative": '{"prompt_tokens": -5, "completion_tokens": -7, "total_tokens": -12}',
    "fractions": '{"prompt_tokens": 1.5, "completion_tokens": 2.5}',
    "booleans": '{"prompt_tokens": true, "completion_tokens": false}',
    "huge": f'{{"prompt_tokens": {10**15}, "completion_tokens": {10**15}}}',
    "beyond 64 bits": f'{{"prompt_tokens": {BIG}, "completion_tokens": {BIG}}}',
    "1e308": '{"prompt_tokens": 1e308, "completion_tokens": 1e308}',
    "more cached than read": '{"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 99}}',
    "negative parts": '{"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": -9}}',
    "only a sum": '{"total_tokens": 9}',
    "odd details": '{"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": [1], "completion_tokens_details": "x"}',
}


def numbers(proxy: Proxy) -> dict[str, float]:
    lines = proxy.request("GET", "/metrics").body.decode().splitlines()
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")
    }


@pytest.mark.event(36)
@pytest.mark.parametrize("streaming", [False, True])
def test_odd_usage_breaks_no_sum(proxy: Proxy, upstream: UpstreamServer, streaming: bool) -> None:
    before = numbers(proxy)
    for name, usage in ODD.items():
        text = f"What did it use, {name}?"
        if streaming:
            parts = [json.dumps(chunk) for chunk in chat_chunks(["Used."], usage=False)]
            last = f'{{"object":"chat.completion.chunk","choices":[],"usage":{usage}}}'
            upstream.script = stream(sse_bytes([*parts, *([last] if usage else [])]), headers=[SSE_TYPE])
        else:
            whole = json.dumps({**chat_whole("Used."), "usage": "USAGE"})
            body = whole.replace('"USAGE"', usage or "{}")
            upstream.script = reply(body.encode(), headers=[JSON_TYPE])
        got = proxy.chat(text, stream=streaming, model="gpt-4o-mini")
        assert (got.status, b"Used." in got.body) == (200, True), name
        cost = got.headers.get("semcache-cost")
        assert cost is None or float(cost) >= 0, (name, cost)
    records = [one for one in proxy.records() if one.get("model") == "gpt-4o-mini"][-len(ODD) :]
    for record in records:
        assert record["status"] == 200
        for part in (record.get("usage") or {}).values():
            assert not isinstance(part, int | float) or (math.isfinite(part) and 0 <= part < 1e16), record
    after = numbers(proxy)
    for name, value in after.items():
        assert math.isfinite(value), name
        if name.partition("{")[0].endswith(("_total", "_count", "_sum")):
            assert value >= before.get(name, 0.0), name
    assert proxy.ready_detail()["status"] in ("ready", "degraded")


@pytest.mark.event(36)
def test_a_model_without_a_price_costs_nobody_knows_what(proxy: Proxy, upstream: UpstreamServer) -> None:
    """Never nought: an unknown price is told as unknown, and counted."""
    before = proxy.metric("semcache_unpriced_total")
    got = proxy.chat("What does it cost?", model="a-model-nobody-has-a-price-for")
    assert got.status == 200
    assert "semcache-cost" not in got.headers
    proxy.wait_until(lambda: proxy.metric("semcache_unpriced_total") > before)
