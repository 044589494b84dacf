"""Content codings undone while streaming, with caps."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator, Sequence

import pytest

from semcache.answer import decode
from semcache.answer.decode import content_coding
from semcache.errors import UpstreamError
from tests.fakes.generator import FakeReply
from tests.fakes.upstream_server import compress

TEXT = "雪 the quick brown fox 🐍 ".encode() * 400


def reply(body: Sequence[bytes], coding: str = "gzip") -> FakeReply:
    return FakeReply(200, ((b"Content-Encoding", coding.encode()),), tuple(body))


def decoded(source: FakeReply, **caps: int) -> AsyncIterator[bytes]:
    return decode.decoded(source, content_coding(source.headers), **caps)


async def joined(parts: AsyncIterator[bytes]) -> bytes:
    return b"".join([part async for part in parts])


@pytest.mark.parametrize("coding", ["identity", "gzip", "deflate", "raw-deflate"])
@pytest.mark.parametrize("size", [1, 2, 7, 100_000])
async def test_the_body_comes_out_whole_whatever_the_chunks(coding: str, size: int) -> None:
    coded = compress(TEXT, coding)
    parts = [coded[i : i + size] for i in range(0, len(coded), size)]
    assert await joined(decoded(reply(parts, coding.removeprefix("raw-")))) == TEXT


async def test_a_gzip_body_may_have_several_members_and_padding() -> None:
    body = gzip.compress(b"one ") + gzip.compress(b"two") + b"\0\0"
    for cut in range(len(body)):
        assert await joined(decoded(reply([body[:cut], body[cut:]]))) == b"one two"


async def test_flushed_pieces_come_out_at_once() -> None:
    packer = zlib.compressobj(wbits=31)
    first = packer.compress(b"data: 1\n\n") + packer.flush(zlib.Z_SYNC_FLUSH)
    parts = decoded(reply([first, packer.compress(b"data: 2\n\n") + packer.flush()]))
    assert await anext(parts) == b"data: 1\n\n"
    assert await joined(parts) == b"data: 2\n\n"


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, br", "gzip, gzip", "nonsense"])
async def test_what_cannot_be_decoded_is_passed_on_as_it_is(coding: str) -> None:
    source = reply([b"\x01\x02", b"\x03"], coding)
    assert content_coding(source.headers) is None
    assert await joined(decoded(source)) == b"\x01\x02\x03"


def test_codings_are_read_from_every_header_line_in_any_case() -> None:
    assert content_coding(()) == "identity"
    assert content_coding(((b"CONTENT-ENCODING", b"GZip"),)) == "gzip"
    assert content_coding(((b"content-encoding", b"x-gzip"),)) == "gzip"
    assert content_coding(((b"content-encoding", b"identity, gzip"),)) == "gzip"
    assert content_coding(((b"content-encoding", b"gzip"), (b"content-encoding", b"deflate"))) is None


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_bomb_is_stopped_early(coding: str) -> None:
    bomb = compress(b"\0" * (64 << 20), coding)
    sizes: list[int] = []

    async def drain() -> None:
        async for part in decoded(reply([bomb], coding)):
            sizes.append(len(part))  # noqa: PERF401 - must be kept when the loop raises

    with pytest.raises(UpstreamError, match="too large") as caught:
        await drain()
    assert caught.value.code == "upstream_invalid"
    assert max(sizes) <= 256 * 1024
    assert sum(sizes) < 32 << 20


async def test_the_size_cap_counts_decoded_bytes() -> None:
    with pytest.raises(UpstreamError, match="too large"):
        await joined(decoded(reply([compress(TEXT, "gzip")]), max_bytes=len(TEXT) - 1))


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_rubbish_and_early_ends_are_named(coding: str) -> None:
    with pytest.raises(UpstreamError) as caught:
        await joined(decoded(reply([b"<html>no</html>"], coding)))
    assert (caught.value.status, caught.value.code) == (502, "upstream_invalid")
    whole = compress(TEXT, coding)
    with pytest.raises(UpstreamError) as caught:
        await joined(decoded(reply([whole[:-9]], coding)))
    assert (caught.value.status, caught.value.code) == (502, "upstream_cut")


async def test_an_empty_body_is_empty() -> None:
    assert await joined(decoded(reply([]))) == b""
