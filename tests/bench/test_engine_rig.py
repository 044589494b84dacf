"""The pure parts of the engine's benchmark: what would silently make its figures wrong."""

from __future__ import annotations

import importlib
import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.models.convert import smollm2
from tests.e2e.running import models_folder

BENCH = Path(__file__).parents[2] / "scripts" / "bench"
Load = Callable[[str], ModuleType]


@pytest.fixture(scope="module")
def load() -> Load:
    """Import a module of the rig."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        for name in ("client", "mix", "prompts", "quantised", "rows", "servers"):
            importlib.import_module(f"engine_rig.{name}")
    return lambda name: importlib.import_module(f"engine_rig.{name}")


def test_the_other_side_gets_its_rows_in_its_own_order(load: Load) -> None:
    rows = np.arange(3 * 8 * 5, dtype=np.float32).reshape(24, 5)
    theirs = load("quantised").interleave(rows, 3)
    assert not np.array_equal(theirs, rows)
    assert np.array_equal(smollm2._uninterleave(theirs, 3), rows)


@pytest.mark.parametrize(
    ("value", "said"), [(0.6, "reached"), (0.7, "reached"), (1.15, "held"), (1.16, "MISSED")]
)
def test_a_goal_that_is_a_ceiling(load: Load, value: float, said: str) -> None:
    assert load("rows").Goal(1.15, 0.7, less=True).verdict(value) == said


@pytest.mark.parametrize(("value", "said"), [(15.0, "reached"), (8.0, "held"), (7.9, "MISSED")])
def test_a_goal_that_is_a_floor(load: Load, value: float, said: str) -> None:
    assert load("rows").Goal(8, 15).verdict(value) == said


def test_a_goal_without_a_wish_is_held_at_most(load: Load) -> None:
    assert load("rows").Goal(1.0, less=True).verdict(0.0) == "held"


def test_ratios_are_of_one_round_each(load: Load) -> None:
    rows = load("rows")
    above, below = rows.Row("x", "a", "", [10.0, 40.0, 9.0]), rows.Row("x", "b", "", [10.0, 20.0, 3.0])
    found = rows.ratio("x", above, below)
    assert (found.samples, found.middle, found.server) == ([1.0, 2.0, 3.0], 2.0, "a / b")


def test_servers_take_turns(load: Load) -> None:
    rows, order = load("rows"), []
    servers = [load("servers").Server(name, 0, 0, "") for name in "abc"]
    found = rows.in_turn("x", "", servers, 3, lambda server, _: order.append(server.name) or len(order))
    assert "".join(order) == "abcbcacab"
    assert [len(row.samples) for row in found] == [3, 3, 3]
    assert found[0].samples == [1, 6, 8]


@given(
    text=st.binary(max_size=300),
    cuts=st.lists(st.integers(1, 40), max_size=20),
)
def test_a_chunked_body_is_put_together(load: Load, text: bytes, cuts: list[int]) -> None:
    pieces, rest = [], text
    for cut in cuts:
        if rest[:cut]:
            pieces.append(rest[:cut])
        rest = rest[cut:]
    pieces += [rest] if rest else []
    sent = b"".join(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces) + b"0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert load("client")._body(head + sent) == text


@pytest.mark.parametrize(
    ("stream", "is_text"),
    [
        (b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n', False),
        (b'data: {"choices":[{"delta":{"role":"assistant","content":null}}]}\n\n', False),
        (b'data: {"choices":[{"delta":{"content":"', False),
        (b'"content":"" ... {"delta":{"content":" Paris"}}]}\n\n', True),
        (b'{"message":{"role":"assistant","content":"Paris"}}', True),
    ],
)
def test_a_role_alone_is_no_first_token(load: Load, stream: bytes, is_text: bool) -> None:
    assert load("client")._has_text(bytearray(stream)) is is_text


def test_arrivals_are_random_in_number_and_as_many_as_meant(load: Load) -> None:
    windows = [load("mix").moments(random.Random(seed), 5.0, 20.0) for seed in range(200)]
    assert all(found == sorted(found) and found[0] > 0 and found[-1] < 20 for found in windows)
    counts = [len(found) for found in windows]
    assert mean(counts) == pytest.approx(100, abs=3)
    assert 60 < np.var(counts) < 150  # that of a Poisson number is its mean


def test_the_meter_counts_all_threads_and_no_sleep(load: Load) -> None:
    meter = load("servers").cpu_seconds
    before, began = meter(os.getpid()), time.process_time()
    worker = threading.Thread(target=lambda: sum(range(3_000_000)))
    worker.start()
    worker.join()
    time.sleep(0.05)
    assert meter(os.getpid()) - before == pytest.approx(time.process_time() - began, abs=0.01)
    assert meter(os.getpid()) - before > 0.005


def test_prompts_have_the_length_that_was_asked_for(load: Load) -> None:
    folder = models_folder() / "SmolLM2-135M-Instruct"
    if not folder.is_dir():
        pytest.skip("the packaged model is not fetched")
    prompts = load("prompts").Prompts(folder)
    system, other = prompts.system(300), prompts.system(300)
    asked = [prompts.tokens(prompts.ask(text, prompts.question(7))) for text in (system, system, other)]
    assert [len(ids) for ids in asked] == [300 + 7 + prompts.closing] * 3
    assert _common(asked[0], asked[1]) == 300
    assert _common(asked[0], asked[2]) < 20


def _common(one: list[int], two: list[int]) -> int:
    return next(index for index, (a, b) in enumerate(zip(one, two, strict=True)) if a != b)
