"""A converter that copies; stands in for `python -m semcache.models.convert` in tests.

Its behaviour is the converter's name. It adds one line to the file $FAKE_LOG for each run.
"""

import json
import os
import pathlib
import sys
import time

name, source, made = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
with pathlib.Path(os.environ["FAKE_LOG"]).open("a") as log:
    log.write(f"{os.getpid()}\n")


def say(**message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


say(step="weights", fraction=0.5)
(made / "model.onnx").write_bytes((source / "weights.bin").read_bytes())
if name == "slow":
    gate = pathlib.Path(os.environ["FAKE_GATE"])
    while not gate.exists():
        time.sleep(0.05)
        say(step="weights", fraction=0.6)
if name == "crash":
    os.abort()
if name == "traceback":
    raise KeyError("emb.word")
if name == "refuse":
    say(error="the file is of another variant")
    sys.exit(1)
(made / "tokenizer.json").write_text("{}")
(made / "st").mkdir()
(made / "st" / "config.json").write_text("{}")
details = {
    "dim": 4, "window": 8, "pooling": "mean", "normalise": True, "prefix": "", "onnx": "model.onnx",
    "tokenizer": "tokenizer.json", "st": "st", "inputs": ["input_ids"], "output": "out",
    "unknown_id": 0, "pad_id": 0,
}  # fmt: skip
say(details={"encoder": details if name != "lie" else {**details, "onnx": "../elsewhere"}})
