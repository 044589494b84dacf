from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.models import ModelError
from semcache.models.convert.gguf_file import GgufFile


def write(path: Path) -> dict[str, np.ndarray]:
    """A file by the gguf library's own writer; gives the tensors as that library reads them back."""
    random = np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_uint32("llama.block_count", 2)
    writer.add_float32("llama.rope.freq_base", 10000.0)
    writer.add_bool("tokenizer.ggml.add_bos_token", False)
    writer.add_string("text", "你好 <|im_end|>")
    writer.add_array("tokenizer.ggml.tokens", ["a", "é", ""])
    writer.add_array("tokenizer.ggml.token_type", [1, 3, 1])
    expected = {}
    for kind in ("F32", "Q8_0", "Q4_1", "Q4_0"):
        values = random.normal(size=(4, 64)).astype(np.float32)
        quantized = gguf.GGMLQuantizationType[kind]
        packed = gguf.quants.quantize(values, quantized)
        writer.add_tensor(kind, packed, raw_dtype=quantized)
        expected[kind] = gguf.quants.dequantize(packed, quantized)
    writer.add_tensor("vector", np.arange(5, dtype=np.float32))
    expected["vector"] = np.arange(5, dtype=np.float32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return expected


def test_it_reads_what_the_library_writes(tmp_path: Path) -> None:
    expected = write(tmp_path / "x.gguf")
    file = GgufFile(tmp_path / "x.gguf")
    assert file.names == tuple(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(file.tensor(name), values)
        assert file.tensor(name).dtype == np.float32


def test_it_reads_every_kind_of_field(tmp_path: Path) -> None:
    write(tmp_path / "x.gguf")
    fields = GgufFile(tmp_path / "x.gguf").fields
    assert fields["llama.block_count"] == 2
    assert fields["llama.rope.freq_base"] == 10000.0
    assert fields["tokenizer.ggml.add_bos_token"] is False
    assert fields["text"] == "你好 <|im_end|>"
    assert fields["tokenizer.ggml.tokens"] == ["a", "é", ""]
    assert fields["tokenizer.ggml.token_type"] == [1, 3, 1]


def test_absent_keys_and_tensors_are_named(tmp_path: Path) -> None:
    write(tmp_path / "x.gguf")
    file = GgufFile(tmp_path / "x.gguf")
    with pytest.raises(ModelError, match=r"no llama\.head"):
        file.field("llama.head")
    with pytest.raises(ModelError, match=r"no tensor blk\.0"):
        file.tensor("blk.0")


@pytest.mark.parametrize("content", [b"", b"GGUF", b"GGML" + bytes(60), b"GGUF\x09\0\0\0" + bytes(60)])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ModelError):
        GgufFile(tmp_path / "x")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_cut_or_scribbled_file_never_gives_another_error(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.gguf"
        names = write(path)
        content = bytearray(path.read_bytes())
        cut = data.draw(st.integers(1, len(content)))
        place = data.draw(st.integers(0, cut - 1))
        content[place] ^= data.draw(st.integers(0, 255))
        path.write_bytes(bytes(content[:cut]))
        try:
            file = GgufFile(path)
            for name in names:
                file.tensor(name)
        except ModelError:
            pass
        else:
            assert cut > len(content) - 32, "a cut file was read without a complaint"
