"""A small ONNX graph writer: named constants, nodes in order, one output each unless asked.

Does NOT know: what the graph computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray

MICROSOFT: Final = "com.microsoft"
"""The operator domain of onnxruntime's fused operators (docs/ContribOperators.md there)."""

_OPSET: Final = 21
_IR_VERSION: Final = 10


class GraphWriter:
    """Collects constants and nodes; every method gives the name of the value it makes."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """Add a constant tensor."""
        self._constants.append(onnx.numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def constant_int4(self, name: str, packed: NDArray[np.uint8], shape: Sequence[int]) -> str:
        """Add a signed 4-bit tensor; `packed` holds two values a byte, the first in the low half."""
        raw = packed.tobytes()
        self._constants.append(onnx.helper.make_tensor(name, onnx.TensorProto.INT4, shape, raw, raw=True))
        return name

    def node(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add a standard node with one output."""
        return self._add(operator, inputs, 1, "", attributes)[0]

    def split(self, value: str, parts: int) -> tuple[str, ...]:
        """Cut the last axis into equal parts."""
        return self._add("Split", (value,), parts, "", {"axis": -1, "num_outputs": parts})

    def fused(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add a node of onnxruntime's own domain; an empty input name means an absent input."""
        return self._add(operator, inputs, 1, MICROSOFT, attributes)[0]

    def _add(
        self, operator: str, inputs: Sequence[str], outputs: int, domain: str, attributes: Mapping[str, Any]
    ) -> tuple[str, ...]:
        name = f"{operator}_{len(self._nodes)}"
        names = tuple(f"{name}_{index}" for index in range(outputs))
        made = onnx.helper.make_node(
            operator, list(inputs), list(names), name=name, domain=domain, **attributes
        )
        self._nodes.append(made)
        return names

    def save(self, path: Path, inputs: Sequence[str], result: str, output: str, width: int) -> None:
        """Write the model: int64 `inputs` [batch, sequence], float32 `output` [batch, sequence, width]."""
        axes = ["batch", "sequence"]
        self._nodes.append(onnx.helper.make_node("Identity", [result], [output], name=output))
        graph = onnx.helper.make_graph(
            self._nodes,
            path.stem,
            [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, axes) for name in inputs],
            [onnx.helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, [*axes, width])],
            self._constants,
        )
        opsets = [onnx.helper.make_opsetid("", _OPSET), onnx.helper.make_opsetid(MICROSOFT, 1)]
        model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        path.write_bytes(model.SerializeToString())
