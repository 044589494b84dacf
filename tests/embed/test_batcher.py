"""Deadlines, queue, memo, sharing and faults of the batcher, with a model made of switches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import numpy as np
import pytest

from semcache.core import Vector
from semcache.embed.batcher import Batcher, Limits
from semcache.embed.memo import VectorMemo
from semcache.embed.spec import TextModel
from semcache.errors import EncoderError
from tests.embed.fake_model import SPEC, FakeModel, fake_vector

# Far beyond what a busy machine needs; tests that want lateness set their own deadline.
PATIENT = Limits(deadline=15.0, stall_after=30.0, queue=64, close_wait=5.0)


@asynccontextmanager
async def serving(
    model: FakeModel, limits: Limits = PATIENT, memo: VectorMemo | None = None
) -> AsyncIterator[Batcher]:
    batcher = make(lambda: model, limits, memo)
    await batcher.start()
    try:
        yield batcher
    finally:
        model.gate.set()
        await batcher.aclose()


def make(load: Callable[[], TextModel], limits: Limits = PATIENT, memo: VectorMemo | None = None) -> Batcher:
    return Batcher(load, lambda: SPEC.id, limits, VectorMemo(100, 1 << 20) if memo is None else memo, "test")


async def kind_of(call: Awaitable[Vector]) -> str:
    with pytest.raises(EncoderError) as caught:
        await call
    return caught.value.kind


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for happens on another thread
            await asyncio.sleep(0.002)


async def hold(model: FakeModel, batcher: Batcher, text: str = "holds the worker") -> asyncio.Task[Vector]:
    """Make the worker busy with one pass until the gate opens."""
    model.begun.clear()
    model.gate.clear()
    task = asyncio.create_task(batcher.encode(text))
    await until(model.begun.is_set)
    return task


async def test_gives_the_models_vector() -> None:
    async with serving(FakeModel()) as batcher:
        np.testing.assert_array_equal(await batcher.encode("a"), fake_vector("a"))


async def test_the_model_lives_on_one_thread_that_is_not_the_loops() -> None:
    import threading

    model = FakeModel()
    async with serving(model) as batcher:
        await asyncio.gather(*(batcher.encode(f"t{n}") for n in range(10)))
    assert len(model.threads) == 1
    assert threading.get_ident() not in model.threads


async def test_waiting_texts_are_taken_together_up_to_the_batch() -> None:
    model = FakeModel(max_batch=4)
    async with serving(model) as batcher:
        first = await hold(model, batcher)
        others = [asyncio.create_task(batcher.encode(f"t{n}")) for n in range(6)]
        await until(lambda: batcher.in_flight == 7)
        model.gate.set()
        results = await asyncio.gather(first, *others)
    assert [len(batch) for batch in model.batches] == [1, 4, 2]
    for n, vector in enumerate(results[1:]):
        np.testing.assert_array_equal(vector, fake_vector(f"t{n}"))


async def test_identical_texts_in_flight_are_computed_once() -> None:
    model = FakeModel()
    async with serving(model) as batcher:
        first = await hold(model, batcher, "same")
        others = [asyncio.create_task(batcher.encode("same")) for _ in range(20)]
        await asyncio.sleep(0)
        model.gate.set()
        await asyncio.gather(first, *others)
    assert model.texts == ["same"]


async def test_one_of_many_waiters_may_hang_up() -> None:
    model = FakeModel()
    async with serving(model) as batcher:
        blocker = await hold(model, batcher)
        leaver, stayer = (asyncio.create_task(batcher.encode("shared")) for _ in range(2))
        await until(lambda: batcher.in_flight == 2)
        leaver.cancel()
        await asyncio.sleep(0)
        model.gate.set()
        np.testing.assert_array_equal(await stayer, fake_vector("shared"))
        await blocker
        with pytest.raises(asyncio.CancelledError):
            await leaver


async def test_a_repeated_text_comes_from_the_memo() -> None:
    model = FakeModel()
    async with serving(model) as batcher:
        first, second = await batcher.encode("a"), await batcher.encode("a")
    assert first is second
    assert model.texts == ["a"]


async def test_late_is_told_at_the_deadline_and_the_vector_is_kept() -> None:
    model = FakeModel()
    async with serving(model) as batcher:
        model.gate.clear()
        began = time.monotonic()
        assert await kind_of(batcher.encode("slow", deadline=0.05)) == "late"
        assert time.monotonic() - began < 5.0
        model.gate.set()
        await until(lambda: batcher.in_flight == 0)
        np.testing.assert_array_equal(await batcher.encode("slow"), fake_vector("slow"))
    assert model.texts == ["slow"]


async def test_late_and_cancelled_requests_are_never_computed() -> None:
    model = FakeModel()
    async with serving(model) as batcher:
        blocker = await hold(model, batcher)
        gone = asyncio.create_task(batcher.encode("cancelled"))
        await until(lambda: batcher.in_flight == 2)
        gone.cancel()
        assert await kind_of(batcher.encode("late", deadline=0.02)) == "late"
        assert batcher.in_flight == 1
        model.gate.set()
        await blocker
        await batcher.encode("next")
    assert model.texts == ["holds the worker", "next"]


async def test_a_loop_that_is_late_itself_still_takes_a_result_that_was_ready() -> None:
    async with serving(FakeModel()) as batcher:
        task = asyncio.create_task(batcher.encode("ready in time", deadline=0.2))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        time.sleep(0.5)  # noqa: ASYNC251 - the point: the loop stalls past the deadline
        np.testing.assert_array_equal(await task, fake_vector("ready in time"))


async def test_an_overloaded_queue_still_serves_in_time() -> None:
    """Without skipping hopeless jobs every one would be finished just after its deadline."""
    model = FakeModel(seconds=0.02)
    async with serving(model, Limits(deadline=0.3, queue=200, stall_after=30.0)) as batcher:
        await batcher.encode("teaches the worker what a text costs")
        for _ in range(3):
            burst = [batcher.encode(f"{time.monotonic()} {n}") for n in range(60)]
            results = await asyncio.gather(*burst, return_exceptions=True)
            kinds = {result.kind for result in results if isinstance(result, EncoderError)}
            assert kinds == {"late"}
            assert sum(isinstance(result, np.ndarray) for result in results) >= 3


async def test_a_full_queue_is_busy_at_once() -> None:
    model = FakeModel()
    async with serving(model, Limits(deadline=15.0, queue=3, stall_after=30.0)) as batcher:
        blocker = await hold(model, batcher)
        waiting = [asyncio.create_task(batcher.encode(f"t{n}")) for n in range(2)]
        await until(lambda: batcher.in_flight == 3)
        assert await kind_of(batcher.encode("one more")) == "busy"
        model.gate.set()
        await asyncio.gather(blocker, *waiting)
        await batcher.encode("room again")


async def test_a_hung_pass_makes_later_calls_fail_fast_and_never_blocks_the_loop() -> None:
    model = FakeModel()
    limits = Limits(deadline=0.05, stall_after=0.1, close_wait=0.1)
    async with serving(model, limits) as batcher:
        blocker = await hold(model, batcher)
        assert await kind_of(blocker) == "late"
        await until(lambda: batcher.stalled)
        began = time.monotonic()
        for n in range(200):
            assert await kind_of(batcher.encode(f"t{n}", deadline=5.0)) == "busy"
        assert time.monotonic() - began < 4.0
        await batcher.aclose()


async def test_recovers_when_a_hung_pass_ends() -> None:
    model = FakeModel()
    async with serving(model, Limits(deadline=10.0, stall_after=0.05)) as batcher:
        blocker = await hold(model, batcher)
        await until(lambda: batcher.stalled)
        model.gate.set()
        await blocker
        await batcher.encode("well again")


@pytest.mark.parametrize("fault", [RuntimeError("quotes secret text"), MemoryError(), ValueError("x")])
async def test_a_fault_of_the_model_is_an_error_and_the_thread_survives(fault: Exception) -> None:
    model = FakeModel(fault=fault)
    async with serving(model) as batcher:
        with pytest.raises(EncoderError) as caught:
            await batcher.encode("secret text")
        assert caught.value.kind == "error"
        assert "secret" not in str(caught.value)
        model.fault = None
        np.testing.assert_array_equal(await batcher.encode("secret text"), fake_vector("secret text"))


async def test_a_wrong_number_of_results_is_an_error() -> None:
    class Short(FakeModel):
        def embed(self, texts):  # type: ignore[no-untyped-def]  # a broken model on purpose
            return []

    async with serving(Short()) as batcher:
        assert await kind_of(batcher.encode("a")) == "error"


async def test_a_refusal_belongs_to_its_text_alone() -> None:
    model = FakeModel(max_batch=8, refusals={"bad": EncoderError("no", kind="unknown_script")})
    async with serving(model) as batcher:
        blocker = await hold(model, batcher)
        bad, good = (asyncio.create_task(batcher.encode(text)) for text in ("bad", "good"))
        await until(lambda: batcher.in_flight == 3)
        model.gate.set()
        await blocker
        assert await kind_of(bad) == "unknown_script"
        np.testing.assert_array_equal(await good, fake_vector("good"))
    assert model.batches[1] == ["bad", "good"]


async def test_waiters_of_one_fault_get_exceptions_of_their_own() -> None:
    model = FakeModel(fault=RuntimeError())
    async with serving(model) as batcher:
        calls = [batcher.encode("a") for _ in range(2)]
        first, second = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(first, EncoderError)
    assert isinstance(second, EncoderError)
    assert first is not second


async def test_the_first_request_starts_loading_and_does_not_wait_for_it() -> None:
    model = FakeModel()
    release = model.gate
    release.clear()

    def load() -> TextModel:
        release.wait(20)
        return model

    batcher = make(load)
    began = time.monotonic()
    assert await kind_of(batcher.encode("a")) == "loading"
    assert await kind_of(batcher.encode("b")) == "loading"
    assert time.monotonic() - began < 4.0
    release.set()
    await until(lambda: batcher.state == "ready")
    await batcher.encode("a")
    await batcher.aclose()


@pytest.mark.parametrize("fault", [EncoderError("no such folder"), RuntimeError("of the runtime")])
async def test_a_failed_load_is_told_and_tried_again_later(fault: Exception) -> None:
    attempts: list[int] = []

    def load() -> TextModel:
        attempts.append(1)
        if len(attempts) == 1:
            raise fault
        return FakeModel()

    batcher = make(load, Limits(deadline=15.0, reload_after=0.2))
    with pytest.raises(EncoderError):
        await batcher.start()
    assert batcher.state == "failed"
    assert await kind_of(batcher.encode("a")) == "error"
    assert len(attempts) == 1
    await asyncio.sleep(0.25)
    assert await kind_of(batcher.encode("a")) == "error"
    await until(lambda: batcher.state == "ready")
    await batcher.encode("a")
    assert len(attempts) == 2
    await batcher.aclose()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_thread_that_dies_counts_as_failed() -> None:
    model = FakeModel(fault=SystemExit())
    async with serving(model, Limits(deadline=0.1)) as batcher:
        assert await kind_of(batcher.encode("kills")) == "late"
        await until(lambda: batcher.state == "failed")
        assert await kind_of(batcher.encode("next")) == "error"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_load_whose_thread_dies_does_not_hang_the_start() -> None:
    def load() -> TextModel:
        raise SystemExit

    batcher = make(load)
    async with asyncio.timeout(10):
        with pytest.raises(EncoderError):
            await batcher.start()


async def test_closing_ends_requests_in_flight_and_the_thread() -> None:
    model = FakeModel()
    batcher = make(lambda: model)
    await batcher.start()
    computing = await hold(model, batcher)
    queued = asyncio.create_task(batcher.encode("queued"))
    await until(lambda: batcher.in_flight == 2)
    closing = asyncio.create_task(batcher.aclose())
    assert await kind_of(computing) == "closed"
    assert await kind_of(queued) == "closed"
    assert await kind_of(batcher.encode("after")) == "closed"
    model.gate.set()
    await closing
    await until(lambda: model.closed)
    await batcher.aclose()
    assert model.texts == ["holds the worker"]


async def test_closing_before_start_is_clean() -> None:
    batcher = make(FakeModel)
    await batcher.aclose()
    assert await kind_of(batcher.encode("a")) == "closed"


async def test_a_small_memo_never_changes_results() -> None:
    model = FakeModel()
    async with serving(model, memo=VectorMemo(2, 1 << 20)) as batcher:
        for n in [0, 1, 2, 0, 1, 2]:
            np.testing.assert_array_equal(await batcher.encode(f"t{n}"), fake_vector(f"t{n}"))
    assert len(model.texts) == 6
