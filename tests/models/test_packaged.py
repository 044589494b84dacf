from __future__ import annotations

import dataclasses
import re

import pytest

from semcache.models import PACKAGED
from semcache.models.convert.__main__ import CONVERTERS


def test_the_three_models_are_there_under_their_names() -> None:
    assert list(PACKAGED) == ["all-MiniLM-L6-v2", "multilingual-e5-small", "SmolLM2-135M-Instruct"]
    assert all(name == model.name for name, model in PACKAGED.items())


@pytest.mark.parametrize("model", PACKAGED.values(), ids=lambda model: model.name)
def test_each_is_pinned_and_has_a_converter(model) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", model.sha256)
    assert re.fullmatch(r"\d+\.\d+\.\d+", model.version)
    assert model.wheel_bytes > 80_000_000
    assert model.licence in ("Apache-2.0", "MIT")
    assert model.converter in CONVERTERS
    assert model.members


def test_fingerprints_follow_source_and_converter_only() -> None:
    model = PACKAGED["all-MiniLM-L6-v2"]
    same = dataclasses.replace(model, licence="other", wheel_bytes=1)
    assert same.fingerprint == model.fingerprint
    for change in (
        {"name": "x"},
        {"version": "9"},
        {"sha256": "0" * 64},
        {"package": "x"},
        {"converter": "x"},
    ):
        assert dataclasses.replace(model, **change).fingerprint != model.fingerprint, change


def test_no_two_models_share_a_fingerprint() -> None:
    assert len({model.fingerprint for model in PACKAGED.values()}) == len(PACKAGED)
