"""Encoders that are broken on purpose, as real files: a model folder with another network in it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.e2e.running import models_folder

NAME = "all-MiniLM-L6-v2"
SIZE = 384


def copied(folder: Path) -> Path:
    """Copy the real encoder to a place where it may be changed; its manifest says nothing of digests to the encoder."""
    target = folder / NAME
    shutil.copytree(models_folder() / NAME, target, ignore=shutil.ignore_patterns("st"))
    for path in target.iterdir():
        path.chmod(0o644)
    return target


def replace_network(folder: Path, row: np.ndarray[Any, Any], *, varied: bool = False) -> None:
    """Put a network in the place of the real one that gives `row` for each token, times its number where `varied`."""
    section = json.loads((folder / "semcache-model.json").read_text())["encoder"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "s"]) for name in section["inputs"]
    ]
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["numbers", "axis"], ["columns"]),
        helper.make_node("Mul", ["columns", "row" if varied else "ones"], ["rows"]),
        helper.make_node("Mul", ["rows", "nothing" if not varied else "ones"], ["quiet"]),
        helper.make_node("Add", ["quiet", "row"], [section["output"]]),
    ]
    size = row.shape[0]
    constants = [
        numpy_helper.from_array(np.array([2], np.int64), "axis"),
        numpy_helper.from_array(row.astype(np.float32), "row"),
        numpy_helper.from_array(np.ones(size, np.float32), "ones"),
        numpy_helper.from_array(np.zeros(size, np.float32), "nothing"),
    ]
    output = helper.make_tensor_value_info(section["output"], TensorProto.FLOAT, ["b", "s", size])
    graph = helper.make_graph(nodes, "broken", inputs, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    place = folder / section["onnx"]
    place.unlink()
    place.write_bytes(model.SerializeToString())
    onnx.checker.check_model(model)
