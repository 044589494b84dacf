from __future__ import annotations

import pytest

from semcache.errors import UpstreamError
from semcache.proxy.framing import flaw_of
from semcache.proxy.gathering import gathered
from semcache.proxy.headers import reply_headers
from semcache.proxy.parser import PlainParser

HOST = (b"host", b"example.com:8080")


@pytest.mark.parametrize(
    ("version", "target", "headers"),
    [
        ("1.1", b"/v1/chat/completions?a=b", [HOST]),
        ("1.0", b"/", []),
        ("1.1", b"/", [(b"host", b"[::1]:8080"), (b"transfer-encoding", b" Chunked ")]),
        ("1.1", b"/", [(b"host", b"")]),
        ("1.1", b"/", [(b"host", b"a_b.internal")]),
    ],
)
def test_what_is_read_in_one_way_only(
    version: str, target: bytes, headers: list[tuple[bytes, bytes]]
) -> None:
    assert flaw_of(version, target, headers) is None


@pytest.mark.parametrize(
    ("version", "target", "headers"),
    [
        ("2.0", b"/", [HOST]),
        ("0.9", b"/", []),
        ("1.1", b"http://x/", [HOST]),
        ("1.1", b"*", [HOST]),
        ("1.1", b"x:80", [HOST]),
        ("1.1", b"", [HOST]),
        ("1.1", b"/a#b", [HOST]),
        ("1.1", b"/", []),
        ("1.1", b"/", [HOST, HOST]),
        ("1.0", b"/", [HOST, HOST]),
        ("1.1", b"/", [(b"host", b"a/b")]),
        ("1.1", b"/", [(b"host", b"a@b")]),
        ("1.1", b"/", [(b"host", b"a b")]),
        ("1.1", b"/", [HOST, (b"transfer-encoding", b"gzip, chunked")]),
        ("1.0", b"/", [(b"transfer-encoding", b"chunked")]),
    ],
)
def test_what_could_be_read_in_two(version: str, target: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    assert flaw_of(version, target, headers)


async def _parts(*parts: bytes):
    for part in parts:
        yield part


async def test_a_whole_reply_has_a_bound() -> None:
    assert await gathered(_parts(b"ab", b"", b"c"), most=3) == b"abc"
    with pytest.raises(UpstreamError) as raised:
        await gathered(_parts(b"ab", b"cd"), most=3)
    assert (raised.value.status, raised.value.code) == (502, "upstream_invalid")


def test_headers_that_no_server_may_send_are_left_away() -> None:
    sent = [
        (b"X-Fine", b"v\tw \xe9"),
        (b"x(odd", b"v"),
        (b"x-ctl", b"a\x01b"),
        (b"x-del", b"\x7f"),
        (b"", b"v"),
    ]
    assert reply_headers(sent, counted=True) == [(b"x-fine", b"v\tw \xe9")]


class Heard:
    """Callbacks of a protocol, but for those about a head that is repeated."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.events: list[object] = []
        self.parser = PlainParser(self)

    def on_message_begin(self) -> None:
        if not self.parser.resumes:
            self.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.parser.resumes:
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if not self.parser.resumes:
            self.events.append(self.parser.get_method())

    def on_body(self, body: bytes) -> None:
        self.events.append(body)

    def on_message_complete(self) -> None:
        if not self.parser.skips_body:
            self.events.append("end")


UPGRADE = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: x\r\n"
FIRST = {
    "a length": (b"POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n" + UPGRADE + b"\r\nhi", [b"hi"]),
    "chunks": (
        b"POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n"
        + UPGRADE
        + b"\r\n2\r\nhi\r\n0\r\n\r\n",
        [b"hi"],
    ),
    "no body": (b"POST /a HTTP/1.1\r\nhost: x\r\n" + UPGRADE + b"\r\n", []),
}
SECOND = b"PUT /b HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n!"


@pytest.mark.parametrize("how", FIRST)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_upgrade_loses_neither_its_body_nor_what_follows(how: str, size: int) -> None:
    data, body = FIRST[how]
    heard = Heard()
    for start in range(0, len(data + SECOND), size):
        heard.parser.feed_data((data + SECOND)[start : start + size])
    said = b"".join(
        part for part in heard.events if isinstance(part, bytes) and part not in (b"POST", b"PUT")
    )
    assert said == b"".join(body) + b"!"
    assert [part for part in heard.events if part in (b"POST", b"PUT", "end")] == [
        b"POST",
        "end",
        b"PUT",
        "end",
    ]


def test_any_number_of_upgrades_in_a_row_is_read() -> None:
    heard = Heard()
    heard.parser.feed_data(FIRST["no body"][0] * 2000 + SECOND)
    assert heard.events.count("end") == 2001
