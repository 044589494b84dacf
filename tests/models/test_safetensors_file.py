from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from semcache.models import ModelError
from semcache.models.convert.safetensors_file import LazyTensor, write_safetensors

TABLE = np.arange(35, dtype=np.float32).reshape(7, 5)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_library_reads_it_back(tmp_path: Path, dtype: str) -> None:
    heard: list[float] = []
    tensors = {
        "table": LazyTensor((7, 5), lambda: (TABLE[:3], TABLE[3:])),
        "vector": LazyTensor((5,), lambda: [TABLE[0]]),
    }
    write_safetensors(tmp_path / "x", tensors, dtype, heard.append)
    back = load_file(tmp_path / "x")
    np.testing.assert_array_equal(back["table"], TABLE.astype(dtype))
    np.testing.assert_array_equal(back["vector"], TABLE[0].astype(dtype))
    assert back["table"].dtype == dtype
    assert heard == [35 / 40, 1.0]


def test_a_tensor_of_another_size_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="tensor table"):
        write_safetensors(
            tmp_path / "x", {"table": LazyTensor((7, 6), lambda: [TABLE])}, "float32", lambda _: None
        )
