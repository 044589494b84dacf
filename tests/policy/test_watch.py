"""Hot reload against real files: races, half-written sets, vanishing and swapped directories."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from semcache.core import TenantId
from semcache.errors import PolicyError
from semcache.policy import watch
from semcache.policy.snapshot import PolicySnapshot
from semcache.policy.watch import LivePolicies
from tests.policy.samples import MINIMAL, write


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "POLL_SECONDS", 0.1)
    monkeypatch.setattr(watch, "QUIET_SECONDS", 0.03)


def threshold(snapshot: PolicySnapshot, tenant: str = "acme") -> float:
    return snapshot.by_tenant[TenantId(tenant)].domains["chat"].threshold


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not condition():  # noqa: ASYNC110 - the service under test offers a state, not an event
            await anyio.sleep(0.01)


@asynccontextmanager
async def following(path: Path) -> AsyncIterator[LivePolicies]:
    live = await LivePolicies.open(path)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(live.run)
        await anyio.sleep(0.15)
        yield live
        tasks.cancel_scope.cancel()


async def test_a_change_is_taken_and_told(tmp_path: Path) -> None:
    told: list[str] = []
    write(tmp_path, a=MINIMAL)
    live = await LivePolicies.open(tmp_path, lambda snapshot: told.append(snapshot.generation))
    before = live.generation
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(live.run)
        write(tmp_path, a=MINIMAL.replace("0.92", "0.95"))
        await until(lambda: threshold(live.current) == 0.95)
        tasks.cancel_scope.cancel()
    assert live.generation != before
    assert told == [live.generation]
    assert live.status() == watch.PolicyStatus(live.generation, "", 1, 0)


async def test_a_set_that_does_not_fit_this_process_is_refused(tmp_path: Path) -> None:
    def only_acme(snapshot: PolicySnapshot) -> None:
        if snapshot.tenants != ("acme",):
            raise PolicyError("bravo has no upstream here")

    write(tmp_path, a=MINIMAL)
    live = await LivePolicies.open(tmp_path, check=only_acme)
    write(tmp_path, b=MINIMAL.replace("acme", "bravo"))
    assert not await live.reload()
    assert live.current.tenants == ("acme",)
    assert live.last_error == "bravo has no upstream here"
    with pytest.raises(PolicyError, match="bravo"):
        await LivePolicies.open(tmp_path, check=only_acme)


async def test_a_new_tenant_appears(tmp_path: Path) -> None:
    async with following(write(tmp_path, a=MINIMAL)) as live:
        write(tmp_path, b=MINIMAL.replace("acme", "bravo"))
        await until(lambda: live.current.tenants == ("acme", "bravo"))


def broken(folder: Path) -> None:
    write(folder, a="domains: [")


def typo(folder: Path) -> None:
    write(folder, a=MINIMAL + "tresholds: 1\n")


def cut(folder: Path) -> None:
    (folder / "a.yaml").write_text(MINIMAL[:50])


def huge(folder: Path) -> None:
    (folder / "a.yaml").write_bytes(b"a: " + b"x" * 1_000_000)


def emptied(folder: Path) -> None:
    (folder / "a.yaml").write_bytes(b"")


def deleted(folder: Path) -> None:
    (folder / "a.yaml").unlink()


def one_deleted(folder: Path) -> None:
    write(folder, b=MINIMAL.replace("acme", "bravo"))
    (folder / "a.yaml").unlink()


def fifo(folder: Path) -> None:
    (folder / "a.yaml").unlink()
    os.mkfifo(folder / "a.yaml")


def device(folder: Path) -> None:
    (folder / "a.yaml").unlink()
    (folder / "a.yaml").symlink_to("/dev/zero")


def dangling(folder: Path) -> None:
    (folder / "a.yaml").unlink()
    (folder / "a.yaml").symlink_to("nowhere")


def bomb(folder: Path) -> None:
    write(folder, a="a: &a [x,x]\n" + "".join(f"b{i}: &b{i} [*a,*a]\n" for i in range(20)))


def gone(folder: Path) -> None:
    shutil.rmtree(folder)


def a_file_instead(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("not a folder")


FAULTS = [
    broken,
    typo,
    cut,
    huge,
    emptied,
    deleted,
    one_deleted,
    fifo,
    device,
    dangling,
    bomb,
    gone,
    a_file_instead,
]


@pytest.mark.event(34)
@pytest.mark.parametrize("fault", FAULTS)
async def test_the_last_good_set_stays_and_recovers(tmp_path: Path, fault: Callable[[Path], None]) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    async with following(write(folder, a=MINIMAL)) as live:
        good = live.current
        fault(folder)
        await until(lambda: bool(live.last_error))
        assert live.current is good
        assert live.status().failures >= 1
        if folder.is_file():
            folder.unlink()
        folder.mkdir(exist_ok=True)
        (folder / "a.yaml").unlink(missing_ok=True)
        write(folder, a=MINIMAL.replace("0.92", "0.96"))
        await until(lambda: live.last_error == "" and threshold(live.current) == 0.96)


async def test_a_bad_set_is_tried_once_and_not_all_the_time(tmp_path: Path) -> None:
    async with following(write(tmp_path, a=MINIMAL)) as live:
        write(tmp_path, a="nonsense")
        await until(lambda: bool(live.last_error))
        await anyio.sleep(0.5)
        assert live.status().failures == 1


async def test_a_vanished_tenant_needs_a_reload_on_purpose(tmp_path: Path) -> None:
    write(tmp_path, a=MINIMAL, b=MINIMAL.replace("acme", "bravo"))
    async with following(tmp_path) as live:
        (tmp_path / "b.yaml").unlink()
        await until(lambda: "tenants vanished (bravo)" in live.last_error)
        assert live.current.tenants == ("acme", "bravo")
        assert await live.reload()
        assert live.current.tenants == ("acme",)
        assert live.last_error == ""


@pytest.mark.event(34)
async def test_writing_in_steps_never_shows_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files that belong together, rewritten piece by piece, many times over."""
    monkeypatch.setattr(watch, "QUIET_SECONDS", 0.2)  # far longer than a busy machine delays one step
    seen: set[tuple[float, float]] = set()
    write(tmp_path, a=MINIMAL, b=MINIMAL.replace("acme", "bravo"))
    async with following(tmp_path) as live:
        for step in range(4):
            value = f"0.9{step}"
            for name, tenant in (("a", "acme"), ("b", "bravo")):
                text = MINIMAL.replace("acme", tenant).replace("0.92", value)
                with (tmp_path / f"{name}.yaml").open("w", encoding="utf-8") as file:
                    for start in range(0, len(text), 40):
                        file.write(text[start : start + 40])
                        file.flush()
                        seen.add((threshold(live.current), threshold(live.current, "bravo")))
                        await anyio.sleep(0.004)
            await until(lambda: threshold(live.current, "bravo") == float(value))  # noqa: B023 - awaited inside the loop
            seen.add((threshold(live.current), threshold(live.current, "bravo")))
    assert all(a == b for a, b in seen), seen


@pytest.mark.event(34)
async def test_a_swapped_link_to_the_directory_is_noticed(tmp_path: Path) -> None:
    for name, value in (("one", "0.92"), ("two", "0.94")):
        (tmp_path / name).mkdir()
        write(tmp_path / name, a=MINIMAL.replace("0.92", value))
    link = tmp_path / "policies"
    link.symlink_to("one")
    async with following(link) as live:
        fresh = tmp_path / "fresh"
        fresh.symlink_to("two")
        fresh.rename(link)
        await until(lambda: threshold(live.current) == 0.94)
        write(tmp_path / "two", a=MINIMAL.replace("0.92", "0.98"))
        await until(lambda: threshold(live.current) == 0.98)


async def test_a_container_mount_is_followed(tmp_path: Path) -> None:
    """Files link through `..data`, which is swapped whole."""
    for name, value in (("v1", "0.92"), ("v2", "0.94")):
        (tmp_path / f"..{name}").mkdir()
        write(tmp_path / f"..{name}", a=MINIMAL.replace("0.92", value))
    (tmp_path / "..data").symlink_to("..v1")
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
    async with following(tmp_path) as live:
        (tmp_path / "..tmp").symlink_to("..v2")
        (tmp_path / "..tmp").rename(tmp_path / "..data")
        await until(lambda: threshold(live.current) == 0.94)


async def test_reload_by_signal_style_call_tells_whether_it_worked(tmp_path: Path) -> None:
    live = await LivePolicies.open(write(tmp_path, a=MINIMAL))
    write(tmp_path, a=MINIMAL.replace("0.92", "0.93"))
    assert await live.reload()
    assert threshold(live.current) == 0.93
    write(tmp_path, a="x")
    assert not await live.reload()
    assert f"{tmp_path}/a.yaml:1" in live.last_error
    assert threshold(live.current) == 0.93


async def test_many_reloads_at_once_end_in_the_last_state(tmp_path: Path) -> None:
    live = await LivePolicies.open(write(tmp_path, a=MINIMAL))
    write(tmp_path, a=MINIMAL.replace("0.92", "0.93"))
    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(live.reload)
    assert threshold(live.current) == 0.93


async def test_the_first_load_refuses(tmp_path: Path) -> None:
    with pytest.raises(PolicyError):
        await LivePolicies.open(tmp_path)


async def test_without_a_directory_the_built_in_policy_stands(tmp_path: Path) -> None:
    live = await LivePolicies.open(None)
    assert live.current.tenants == ("default",)
    assert await live.reload()
    with anyio.move_on_after(0.05):
        await live.run()
    assert live.status().reloads == 0


async def test_an_unexpected_fault_keeps_the_last_good_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = await LivePolicies.open(write(tmp_path, a=MINIMAL))

    def defect(_path: Path) -> PolicySnapshot:
        raise MemoryError("secret content")

    monkeypatch.setattr(watch, "load_directory", defect)
    assert not await live.reload()
    assert live.last_error == f"cannot load {tmp_path}: MemoryError"


async def test_files_that_change_while_read_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = await LivePolicies.open(write(tmp_path, a=MINIMAL))
    before = live.current
    load = watch.load_directory

    def changed_meanwhile(path: Path) -> PolicySnapshot:
        loaded = load(path)
        write(path, a=MINIMAL.replace("0.92", "0.99"))
        return loaded

    monkeypatch.setattr(watch, "load_directory", changed_meanwhile)
    assert not await live.reload()
    assert live.current is before
    assert "changed while it was read" in live.last_error
    monkeypatch.setattr(watch, "load_directory", load)
    assert await live.reload()
    assert threshold(live.current) == 0.99


async def test_cancelling_does_not_wait_for_the_watching_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "POLL_SECONDS", 30.0)
    async with following(write(tmp_path, a=MINIMAL)):
        began = anyio.current_time()
    assert anyio.current_time() - began < 3


async def test_no_signal_handler_is_touched(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    async with following(write(tmp_path, a=MINIMAL)):
        assert signal.getsignal(signal.SIGINT) is before
