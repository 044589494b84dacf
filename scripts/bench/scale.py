"""One big index, and many small ones: speed, recall, memory, snapshots, rebuilding. See docs/scale.md.

    .venv/bin/python scripts/bench/scale.py --texts FOLDER --model FOLDER [--cache FILE.npz] [--n 1000000]
        [--parts lookup random churn snapshot small memory rebuild] [--entries 200000]

Each part runs in a process of its own, so that memory is what that part took. What the vectors are made of is told in
scale_rig/corpus.py. The machine's load is printed with every part: figures of a busy machine are not worth much.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

import faiss
from scale_rig import corpus, parts

PARTS = ("lookup", "random", "churn", "snapshot", "small", "memory", "rebuild")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--texts", type=Path, required=True, help="folder of the labelled questions")
    options.add_argument("--model", type=Path, required=True, help="folder of an English encoder")
    options.add_argument("--cache", type=Path, help="where embedded questions are kept between runs")
    options.add_argument("--n", type=int, default=1_000_000)
    options.add_argument(
        "--entries", type=int, default=200_000, help="entries in the real store of `rebuild`"
    )
    options.add_argument("--queries", type=int, default=2000)
    options.add_argument(
        "--timed", type=int, default=600, help="questions of each timing; each is made three times"
    )
    options.add_argument("--urgent", action="store_true", help="timings go before other processes (as root)")
    options.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    options.add_argument("--one", choices=PARTS, help="internal: this part, in this process")
    options.add_argument(
        "--folder", type=Path, default=Path("/tmp"), help="where snapshots and stores are put"
    )
    chosen = options.parse_args()
    if chosen.one:
        print(
            f"-- {chosen.one}, {chosen.n:,} vectors, load {os.getloadavg()[0]:.1f} at {time.ctime()}",
            flush=True,
        )
        source = corpus.base(chosen.texts, chosen.model, chosen.cache)
        getattr(parts, chosen.one)(source, chosen)
        return
    corpus.base(chosen.texts, chosen.model, chosen.cache)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, FAISS {faiss.__version__}")
    for part in chosen.parts:
        subprocess.run([sys.executable, __file__, "--one", part, *sys.argv[1:]], check=True)


if __name__ == "__main__":
    main()
