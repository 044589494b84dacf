"""Which headers cross, and which do not."""

from __future__ import annotations

from semcache.proxy.headers import is_event_stream, read_request_headers, reply_headers


def test_request_headers_are_sorted_into_their_places() -> None:
    seen = read_request_headers(
        [
            (b"host", b"evil.example"),
            (b"authorization", b"Bearer k"),
            (b"connection", b"keep-alive, X-Private"),
            (b"x-private", b"hop"),
            (b"cookie", b"c=1"),
            (b"x-forwarded-for", b"1.2.3.4"),
            (b"accept-encoding", b"gzip"),
            (b"semcache-mode", b"exact"),
            (b"semcache-upstream", b"azure"),
            (b"cache-control", b"no-cache"),
            (b"openai-beta", b"x=v1"),
            (b"accept-language", b"de-CH,de;q=0.8"),
            (b"x-stainless-lang", b"python"),
            (b"traceparent", b"00-a-b-01"),
        ]
    )
    assert seen.authorization == "Bearer k"
    assert seen.upstream == "azure"
    assert set(seen.ours) == {b"semcache-mode", b"semcache-upstream", b"cache-control"}
    assert [name for name, _ in seen.forward] == [
        b"openai-beta",
        b"accept-language",
        b"x-stainless-lang",
        b"traceparent",
    ]
    assert seen.answer_changing == (("accept-language", "de"), ("openai-beta", "x=v1"))


def test_no_credential_is_among_what_is_forwarded() -> None:
    pairs = [(name, b"secret") for name in (b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key")]
    assert read_request_headers(pairs).forward == ()


def test_reply_headers_lose_what_describes_another_body_or_connection() -> None:
    raw = [
        (b"Content-Type", b"application/json"),
        (b"Content-Encoding", b"gzip"),
        (b"Content-Length", b"10"),
        (b"Set-Cookie", b"a=b"),
        (b"Transfer-Encoding", b"chunked"),
        (b"X-RateLimit-Remaining", b"4"),
        (b"Semcache-Outcome", b"forged"),
        (b"Access-Control-Allow-Origin", b"*"),
    ]
    gathered = [name for name, _ in reply_headers(raw, counted=False)]
    assert gathered == [b"content-type", b"content-encoding", b"x-ratelimit-remaining"]
    assert b"content-length" in [name for name, _ in reply_headers(raw, counted=True)]


def test_event_streams_are_known_by_their_type() -> None:
    assert is_event_stream([(b"Content-Type", b"Text/Event-Stream; charset=utf-8")])
    assert not is_event_stream([(b"content-type", b"application/json")])
    assert not is_event_stream([])
