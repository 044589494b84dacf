"""Events 29, 30 and 31: a GPU that fails, an encoder that gives nonsense, weights replaced under the same name."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from semcache.core import EncoderId
from semcache.embed.onnx_encoder import OnnxModel, onnx_spec
from semcache.errors import EncoderError
from semcache.lookup import mirror
from tests.e2e.running import Proxy, models_folder
from tests.events.broken_models import NAME, SIZE, copied, replace_network
from tests.events.test_replicas import answering
from tests.fakes.upstream_server import ByRequest, in_thread


def raising(error: str) -> Any:
    def fail(*_: object) -> object:
        raise RuntimeError(error)

    return fail


@pytest.mark.event(29)
@pytest.mark.parametrize(
    "library",
    [
        {
            "get_num_gpus": raising("CUDA error 35: driver version is insufficient"),
            "StandardGpuResources": object,
        },
        {"get_num_gpus": lambda: 1, "StandardGpuResources": raising("CUDA error 2: out of memory")},
        {"get_num_gpus": lambda: 0, "StandardGpuResources": object},
        {},
    ],
    ids=["driver", "memory", "absent", "cpu-build"],
)
def test_a_gpu_that_cannot_be_used_is_done_without(
    monkeypatch: pytest.MonkeyPatch, library: dict[str, Any]
) -> None:
    monkeypatch.setattr(mirror, "faiss", SimpleNamespace(**library))
    assert mirror.gpu_factory() is None


NONSENSE = {
    "nan": (np.full(SIZE, np.nan), "not finite"),
    "inf": (np.full(SIZE, np.inf), "not finite"),
    "minus-inf": (np.where(np.arange(SIZE) == 7, -np.inf, 1.0), "not finite"),
    "zero": (np.zeros(SIZE), "zero"),
    "hardly-anything": (np.full(SIZE, 1e-12), "zero"),
    "too-short": (np.ones(SIZE - 1), "shape"),
    "too-long": (np.ones(SIZE + 1), "shape"),
}


@pytest.mark.event(30)
@pytest.mark.parametrize("what", NONSENSE)
def test_nonsense_from_a_real_network_is_refused_at_one_gate(tmp_path: Path, what: str) -> None:
    row, said = NONSENSE[what]
    folder = copied(tmp_path)
    replace_network(folder, row)
    model = OnnxModel(folder)
    (found,) = model.embed(["Is this a number?"])
    assert isinstance(found, EncoderError)
    assert said in str(found)


@pytest.mark.event(30)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 40.0, 1e18])
def test_a_vector_of_any_other_length_is_put_right(tmp_path: Path, scale: float) -> None:
    folder = copied(tmp_path)
    replace_network(folder, np.full(SIZE, scale))
    (found,) = OnnxModel(folder).embed(["How long is this?"])
    assert isinstance(found, np.ndarray)
    assert abs(float(np.linalg.norm(found)) - 1.0) < 1e-6


@pytest.mark.event(31)
def test_replaced_weights_are_another_generation(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    seen: set[EncoderId] = set()
    for scale in (None, 1.0, 2.0):
        if scale is not None:
            replace_network(folder, np.full(SIZE, scale))
        spec = onnx_spec(folder)
        assert spec is not None
        assert spec.name == NAME
        seen.add(spec.id)
    assert len(seen) == 3


@pytest.mark.slow
@pytest.mark.event(29)
@pytest.mark.event(30)
@pytest.mark.event(31)
def test_a_proxy_lives_through_nonsense_and_never_compares_old_vectors(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    asked, near = "How do I find the harbour?", "How can I find the harbour?"
    looking = {"cache-control": "no-store"}
    with in_thread(ByRequest(answering)) as upstream:
        proxy = Proxy(
            tmp_path / "data", ["--upstream", upstream.url], {"SEMCACHE_ENCODER__LATIN": str(folder)}
        )

        def again() -> None:
            proxy.url = ""
            proxy.start()
            proxy.wait_until(lambda: proxy.ready_detail()["status"] != "starting", 60)

        try:
            replace_network(folder, np.full(SIZE, np.nan))
            again()
            assert proxy.chat(asked).status == 200
            proxy.wait_until(lambda: proxy.outcome(asked) == "exact", 10)
            assert proxy.chat(near, looking).status == 200
            assert proxy.ready_detail()["vectors"] == 0
            assert proxy.stop() == 0

            # A network that gives sound vectors, and finds everything alike: not what its table was made for.
            replace_network(folder, np.arange(1, SIZE + 1, dtype=np.float64), varied=True)
            again()
            assert proxy.outcome(asked, looking) == "exact"
            assert proxy.outcome("What is a wholly different matter?", looking) == "miss"
            assert proxy.ready_detail()["vectors"] == 0
            assert "encoder" in proxy.ready_detail()["degraded"]
            assert proxy.stop() == 0

            shutil.copyfile(models_folder() / NAME / "model.onnx", folder / "model.onnx")
            again()
            proxy.chat(asked, {"cache-control": "no-cache"})
            proxy.wait_until(lambda: proxy.outcome(near, looking) == "semantic", 20)
            assert proxy.stop() == 0

            # Other files under the same name, though they happen to give the same vectors.
            with (folder / "tokenizer.json").open("a") as file:
                file.write("\n")
            again()
            assert proxy.outcome(asked, looking) == "exact"
            # Its vector is of another generation: it is embedded anew, or stays unseen; asked again it is there for sure.
            assert proxy.outcome(near, looking) in ("miss", "semantic")
            proxy.chat(asked, {"cache-control": "no-cache"})
            proxy.wait_until(lambda: proxy.outcome(near, looking) == "semantic", 20)
            assert proxy.stop() == 0
        finally:
            proxy.kill()
