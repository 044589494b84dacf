"""The fault-injecting proxy does what its faults say; else the tests behind it would show nothing."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.events.faultproxy import FaultProxy, Faults, by_number, fault_proxy


@pytest.fixture
def between() -> Iterator[FaultProxy]:
    """A proxy in front of a server that gives back what it is sent."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_echo, args=(listener,), daemon=True).start()
        with fault_proxy(listener.getsockname()) as proxy:
            yield proxy
        listener.shutdown(socket.SHUT_RDWR)


def _echo(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_back, args=(connection,), daemon=True).start()


def _back(connection: socket.socket) -> None:
    with connection:
        try:
            while data := connection.recv(65536):
                connection.sendall(data)
        except OSError:
            return


def say(connection: socket.socket, data: bytes, patience: float = 2.0) -> bytes:
    connection.settimeout(patience)
    connection.sendall(data)
    got = b""
    try:
        while len(got) < len(data) and (part := connection.recv(65536)):
            got += part
    except TimeoutError:
        pass
    return got


def test_all_well(between: FaultProxy) -> None:
    data = bytes(range(256)) * 1000
    with socket.create_connection(between.address) as connection:
        assert say(connection, data) == data
        assert (between.connections, between.open_connections) == (1, 1)
    assert between.bytes_up == between.bytes_down == len(data)


@pytest.mark.parametrize(
    ("faults", "got"),
    [
        (Faults(cut_down=3), b"abc"),
        (Faults(cut_up=2), b""),
        (Faults(cut_down=0), b""),
        (Faults(flip_down=1), b"accdef"),
        (Faults(flip_up=0), b"`bcdef"),
        (Faults(rewrite_down=bytes.upper), b"ABCDEF"),
        (by_number(lambda number: Faults(cut_down=number)), b"a"),
    ],
)
def test_cuts_and_flips(between: FaultProxy, faults: Faults | by_number, got: bytes) -> None:
    between.faults = faults
    with socket.create_connection(between.address) as connection:
        assert say(connection, b"abcdef") == got


def test_a_reset_is_one(between: FaultProxy) -> None:
    between.faults = Faults(cut_down=0, end="reset")
    with socket.create_connection(between.address) as connection, pytest.raises(ConnectionResetError):
        say(connection, b"abcdef")


def test_open_connections_feel_a_change(between: FaultProxy) -> None:
    with socket.create_connection(between.address) as connection:
        assert say(connection, b"one") == b"one"
        between.faults = Faults(delay=0.2)
        began = time.monotonic()
        assert say(connection, b"two") == b"two"
        assert time.monotonic() - began >= 0.4
        between.faults = Faults(hang_down=True)
        assert say(connection, b"three", 0.3) == b""
        assert between.open_connections == 1
        between.cut_all()
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


def test_a_slow_line(between: FaultProxy) -> None:
    between.faults = Faults(rate=10_000)
    with socket.create_connection(between.address) as connection:
        began = time.monotonic()
        assert len(say(connection, b"x" * 2000)) == 2000
        assert time.monotonic() - began >= 0.3


def test_refused_and_taken_again(between: FaultProxy) -> None:
    between.refuse()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(between.address)
    between.accept()
    with socket.create_connection(between.address) as connection:
        assert say(connection, b"back") == b"back"
