"""Runs llama.cpp's server in a process of its own, which ends when its standard input closes.

    python llama_server.py '{"model": "x.gguf", "slots": 4, "context": 1536, ...}'

Says on standard output the version line and then the port. See `servers.LlamaOptions` for the fields.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys


def main() -> None:
    """Read the options, start, wait."""
    try:
        import xllamacpp  # noqa: PLC0415 - an extra that may be absent
    except ImportError:
        sys.exit("the other side needs the package xllamacpp: pip install 'semcache-proxy[bench]'")
    options = json.loads(sys.argv[1])
    params = xllamacpp.CommonParams()
    params.model.path = options["model"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = options["slots"]
    params.n_ctx = options["slots"] * options["context"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options["threads"]
    params.cpuparams.poll = params.cpuparams_batch.poll = 0  # idle threads sleep instead of spinning
    params.kv_unified = options["unified"]
    params.cache_prompt = True
    params.cache_ram_mib = options["snapshots_mib"]
    params.n_ubatch = options["chunk"]
    flash = xllamacpp.llama_flash_attn_type
    params.flash_attn_type = {
        "auto": flash.LLAMA_FLASH_ATTN_TYPE_AUTO,
        "on": flash.LLAMA_FLASH_ATTN_TYPE_ENABLED,
        "off": flash.LLAMA_FLASH_ATTN_TYPE_DISABLED,
    }[options["flash"]]
    params.fit_params = False
    params.use_jinja = True
    params.ui = False
    params.slot_save_path = options["scratch"] + "/"
    params.verbosity = options.get("verbosity", 1)
    server = xllamacpp.Server(params)
    print("xllamacpp", importlib.metadata.version("xllamacpp"))
    print(server.listening_address.rsplit(":", 1)[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
