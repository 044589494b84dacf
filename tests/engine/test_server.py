"""The HTTP face over a real socket: shapes of errors, life and readiness, hostile bodies."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest

from semcache.errors import EngineError
from tests.engine.conftest import Served, eventually, served, served_model
from tests.engine.tiny import engine_of, runner_of, scripted_model

HELLO = {
    "model": "local",
    "messages": [{"role": "user", "content": "Hello"}],
    "temperature": 0,
    "max_tokens": 8,
}


def body(**changes: object) -> bytes:
    return orjson.dumps({**HELLO, **changes})


def error_of(reply, status: int) -> dict:
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/json"
    document = reply.json()
    assert set(document) == {"error"}
    assert set(document["error"]) == {"message", "type", "param", "code"}
    return document["error"]


def test_an_answer_has_the_protocols_shape(tiny_server: Served) -> None:
    reply = tiny_server.post(body())
    assert reply.status_code == 200
    answer = reply.json()
    assert answer["object"] == "chat.completion"
    assert answer["id"].startswith("chatcmpl-")
    assert answer["model"] == "local"
    assert answer["system_fingerprint"].startswith("fp_")
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["prompt_tokens_details"] == {"cached_tokens": 0}


def test_a_stream_is_marked_as_one_and_ends_with_done(tiny_server: Served) -> None:
    reply = tiny_server.post(body(stream=True))
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert reply.headers["cache-control"] == "no-store"
    assert "content-length" not in reply.headers
    lines = [line.removeprefix("data: ") for line in reply.text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    chunks = [orjson.loads(line) for line in lines[:-1]]
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert chunks[-1]["choices"][0]["finish_reason"] in ("stop", "length")
    assert all("usage" not in chunk for chunk in chunks)


def test_models_are_listed(tiny_server: Served) -> None:
    listed = tiny_server.get("/v1/models").json()
    assert [model["id"] for model in listed["data"]] == ["local", "alias"]
    assert tiny_server.get("/v1/models/local").json()["object"] == "model"
    assert error_of(tiny_server.get("/v1/models/other/x"), 404)["code"] == "model_not_found"


def test_errors_never_have_the_frameworks_shape(tiny_server: Served) -> None:
    assert error_of(tiny_server.post(b"{"), 400)["code"] == "invalid_json"
    assert error_of(tiny_server.post(body(temperature=9)), 400)["param"] == "temperature"
    assert error_of(tiny_server.post(body(model="gpt-9")), 404)["code"] == "model_not_found"
    assert error_of(tiny_server.post(body(logit_bias={"99999": 1})), 400)["param"] == "logit_bias"
    assert (
        error_of(tiny_server.post(body(), content_type="text/plain"), 400)["code"] == "invalid_content_type"
    )
    assert error_of(tiny_server.post(body(), content_encoding="gzip"), 415)["code"] == "unsupported_encoding"
    assert error_of(tiny_server.get("/nowhere"), 404)["type"] == "invalid_request_error"
    assert error_of(tiny_server.get("/v1/chat/completions"), 405)["type"] == "invalid_request_error"
    assert error_of(tiny_server.get("/docs"), 404)


def test_a_prompt_beyond_the_context_is_refused_with_figures(tiny_server: Served) -> None:
    error = error_of(tiny_server.post(body(messages=[{"role": "user", "content": "x" * 300}])), 400)
    assert (error["code"], error["param"]) == ("context_length_exceeded", "messages")
    assert "256" in error["message"]


def test_asking_for_more_than_fits_is_cut_to_what_fits() -> None:
    with served_model(scripted_model("y" * 500)) as server:
        answer = server.post(body(max_tokens=100_000)).json()
        assert answer["choices"][0]["finish_reason"] == "length"
        assert answer["usage"]["total_tokens"] == 256


def test_the_default_length_holds_where_nothing_is_said() -> None:
    with served_model(scripted_model("y" * 500)) as server:
        plain = {key: value for key, value in HELLO.items() if key != "max_tokens"}
        assert server.post(orjson.dumps(plain)).json()["usage"]["completion_tokens"] == 64
        assert server.post(body(max_completion_tokens=3)).json()["usage"]["completion_tokens"] == 3


def test_a_body_over_the_limit_is_refused_early(tiny_server: Served) -> None:
    big = body(messages=[{"role": "user", "content": "x" * (1 << 20)}])
    assert error_of(tiny_server.post(big), 413)["code"] == "request_too_large"


def raw_post(server: Served, head: str, payload: bytes = b"") -> socket.socket:
    port = int(server.url.rsplit(":", 1)[1])
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n{head}\r\n\r\n".encode() + payload)
    return connection


def test_a_body_without_a_length_is_read_no_further_than_the_limit(tiny_server: Served) -> None:
    with raw_post(tiny_server, "content-type: application/json\r\ntransfer-encoding: chunked") as connection:
        piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        with contextlib.suppress(ConnectionError):
            for _ in range(40):  # 2.5 MiB against a limit of 1 MiB; the server may hang up meanwhile
                connection.sendall(piece)
        assert connection.recv(64).startswith(b"HTTP/1.1 413")


def test_an_announced_length_over_the_limit_is_refused_unread(tiny_server: Served) -> None:
    with raw_post(tiny_server, "content-type: application/json\r\ncontent-length: 99999999999") as connection:
        assert connection.recv(64).startswith(b"HTTP/1.1 413")


def test_a_slow_body_is_given_up(tiny_server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semcache.engine.intake.BODY_SECONDS", 0.2)
    with raw_post(tiny_server, "content-type: application/json\r\ncontent-length: 100", b"{") as connection:
        assert connection.recv(64).startswith(b"HTTP/1.1 408")


def test_no_more_bodies_are_read_at_once_than_may(
    tiny_server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("semcache.engine.server.MAX_READING", 1)
    with raw_post(tiny_server, "content-type: application/json\r\ncontent-length: 100", b"{"):
        eventually(lambda: tiny_server.post(body()).status_code == 503)
        refused = tiny_server.post(body())
        assert error_of(refused, 503)["code"] == "overloaded"
    eventually(lambda: tiny_server.post(body()).status_code == 200)


def test_while_the_model_loads_requests_are_told_when_to_come_back() -> None:
    gate = threading.Event()
    model = scripted_model("Hi")

    def load(stage: Callable[[str], None]):
        stage("reading the weights")
        gate.wait(20)
        return engine_of(model, runner_of(model))

    with served(load) as server:
        assert server.get("/livez").status_code == 200
        waiting = server.get("/readyz")
        assert waiting.status_code == 503
        assert waiting.json()["stage"] == "reading the weights"
        refused = server.post(body())
        assert error_of(refused, 503)["code"] == "overloaded"
        assert refused.headers["retry-after"].isdigit()
        assert server.get("/v1/models").status_code == 200
        gate.set()
        server.wait_ready()
        assert server.post(body()).json()["choices"][0]["message"]["content"] == "Hi"


@pytest.mark.parametrize(
    "fault", [EngineError("cannot load the model in /m: no config"), ZeroDivisionError()]
)
def test_a_model_that_cannot_be_loaded_ends_the_process(fault: Exception) -> None:
    def load(stage: Callable[[str], None]):
        raise fault

    with served(load) as server:
        assert server.failed.wait(10)
        assert server.get("/readyz").json()["status"] == "failed"
        assert error_of(server.post(body()), 503)["code"] == "engine_unavailable"


def test_a_runner_that_died_ends_the_process() -> None:
    with served_model(scripted_model("Hi")) as server:
        server.host.engine().runner.close()
        assert server.failed.wait(10)
        assert server.get("/readyz").status_code == 503
        assert error_of(server.post(body()), 503)["code"] == "engine_unavailable"


def test_a_fault_in_one_answer_is_an_error_of_that_answer() -> None:
    def before(state: list[int]) -> None:
        if len(state) > 60:
            raise RuntimeError("secret words")

    with served_model(scripted_model("z" * 100, before=before)) as server:
        broken = server.post(body(max_tokens=100))
        assert "secret" not in error_of(broken, 503)["message"]
        streamed = server.post(body(max_tokens=100, stream=True)).text.strip().split("\n\n")
        last = orjson.loads(streamed[-1].removeprefix("data: "))
        assert last["error"]["code"] == "engine_unavailable"
        assert "[DONE]" not in streamed[-1]
        assert server.post(body(max_tokens=2)).status_code == 200


def test_a_client_that_leaves_frees_its_slot_streaming_or_not() -> None:
    def slowly(_: list[int]) -> None:
        time.sleep(0.02)

    with served_model(scripted_model("w" * 200, before=slowly)) as server:
        for stream in (True, False):
            payload = body(max_tokens=180, stream=stream)
            head = f"content-type: application/json\r\ncontent-length: {len(payload)}"
            with raw_post(server, head, payload) as connection:
                eventually(lambda: server.active() == 1)
                if stream:
                    assert connection.recv(64).startswith(b"HTTP/1.1 200")
            eventually(lambda: server.active() == 0, seconds=1.0)
        made = server.get("/readyz").json()["generated_tokens"]
        assert made < 180


def test_silence_in_a_stream_is_filled_with_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semcache.engine.replies.HEARTBEAT_SECONDS", 0.05)
    gate = threading.Event()
    with served_model(scripted_model("Hi", before=lambda _: gate.wait(10))) as server:
        payload = body(stream=True)
        head = f"content-type: application/json\r\ncontent-length: {len(payload)}"
        with raw_post(server, head, payload) as connection:
            seen = b""
            while b": waiting" not in seen:
                seen += connection.recv(4096)
            gate.set()
            while b"[DONE]" not in seen:
                seen += connection.recv(4096)


def test_a_flood_is_refused_in_shape_and_the_server_lives_on() -> None:
    gate = threading.Event()
    with (
        served_model(
            scripted_model("Hi", before=lambda _: gate.wait(20)), max_active=1, max_queue=3
        ) as server,
        ThreadPoolExecutor(24) as pool,
    ):
        replies = [pool.submit(server.post, body()) for _ in range(24)]
        eventually(lambda: sum(reply.done() for reply in replies) >= 20)
        gate.set()
        found = [reply.result(30) for reply in replies]
        answered = [reply for reply in found if reply.status_code == 200]
        assert 1 <= len(answered) <= 4
        for reply in found:
            if reply.status_code != 200:
                assert error_of(reply, 503)["code"] == "overloaded"
                assert reply.headers["retry-after"]
        assert server.post(body()).status_code == 200


def test_another_name_of_the_model_is_listed_and_shares_what_was_computed(tiny_server: Served) -> None:
    words = [{"role": "user", "content": "the names of one and the same model " * 4}]
    tiny_server.post(body(messages=words, max_tokens=1))
    answer = tiny_server.post(body(messages=words, max_tokens=1, model="alias")).json()
    assert answer["model"] == "alias"
    assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] > 100
