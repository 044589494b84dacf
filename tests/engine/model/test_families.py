"""Every family and rotary scaling gives transformers' own logits, whole and cut in two."""

from __future__ import annotations

import pytest
import torch
import transformers

from semcache.engine.model.loading import build
from semcache.engine.model.shape import read_shape
from semcache.engine.runs import Run
from semcache.errors import EngineError
from tests.engine.model.arrange import FAMILIES, piece, prompt, settings_for, straight, tiny_decoder


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_are_those_of_transformers(family: str) -> None:
    model = tiny_decoder(family)
    tokens = prompt(300)
    with torch.inference_mode():
        expected = model(input_ids=torch.tensor([tokens])).logits[0]
    network, _ = build(model, settings_for(8192))
    assert network.exactness.grid == 1
    torch.testing.assert_close(straight(network, tokens), expected, rtol=1e-4, atol=1e-4)
    runs = [Run(1000, 300)]
    network.forward([piece(tokens, 0, 140, runs, 0)])
    [found] = network.forward([piece(tokens, 140, 300, runs)])
    torch.testing.assert_close(found, expected[140:], rtol=1e-4, atol=1e-4)


_REFUSED = {
    "mixtral": (transformers.MixtralConfig(), "mixtral"),
    "gemma": (transformers.Gemma2Config(), "gemma2"),
    "gpt2": (transformers.GPT2Config(), "gpt2"),
    "sliding": (transformers.MistralConfig(sliding_window=128), "sliding-window"),
    "hybrid": (transformers.Qwen2Config(use_sliding_window=True, sliding_window=64), "sliding-window"),
    "dynamic rope": (
        transformers.LlamaConfig(
            rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0},
        ),
        "'dynamic'",
    ),
    "activation": (transformers.LlamaConfig(hidden_act="gelu"), "gelu"),
    "quantised": (
        transformers.LlamaConfig(quantization_config={"quant_method": "gptq", "bits": 4}),
        "quantised",
    ),
}


@pytest.mark.parametrize("case", _REFUSED)
def test_other_models_are_refused_by_name(case: str) -> None:
    config, word = _REFUSED[case]
    with pytest.raises(EngineError, match=word):
        read_shape(config)


def test_a_window_no_shorter_than_the_context_is_none() -> None:
    assert (
        read_shape(transformers.MistralConfig(sliding_window=4096, max_position_embeddings=4096)).context
        == 4096
    )


class _Odd(torch.nn.Module):
    """An attention output layer of a variant that nobody told us about."""

    def __init__(self, inner: torch.nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias, self._inner = inner.weight, inner.bias, [inner]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._inner[0](x) * 0.5


def test_a_variant_that_computes_something_else_is_refused() -> None:
    model = tiny_decoder()
    layer = model.model.layers[1].self_attn
    layer.o_proj = _Odd(layer.o_proj)
    with pytest.raises(EngineError, match="differ from transformers"):
        build(model, settings_for(8192))
