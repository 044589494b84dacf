"""Answers of a given form, drawn from logits that know nothing of JSON."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from semcache.engine import sampling
from semcache.engine.constrain import MAX_KEPT, Forms
from semcache.engine.fields import ResponseFormat
from semcache.engine.generation import Constraint, Sampling
from semcache.engine.json_schema import MAX_DEPTH, constraints_of
from semcache.engine.vocabulary import Vocabulary, read_vocabulary
from semcache.errors import EngineError, RequestError

SIZE = 49152
ENDS = frozenset({0, 2})
SECRET = "correct-horse"


@pytest.fixture(scope="module")
def tokenizer(real_folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(real_folder)


@pytest.fixture(scope="module")
def forms(tokenizer: Any) -> Forms:
    return Forms(tokenizer, SIZE, ENDS)


@pytest.fixture(scope="module")
def vocabulary(tokenizer: Any) -> Vocabulary:
    return read_vocabulary(tokenizer.backend_tokenizer)


def schema(document: dict[str, Any], strict: bool | None = None) -> ResponseFormat:
    given = {"name": "x", "schema": document, "strict": strict}
    return ResponseFormat.model_validate({"type": "json_schema", "json_schema": given})


JSON_MODE = ResponseFormat(type="json_object")


def random_answer(
    constraint: Constraint, vocabulary: Vocabulary, seed: int, temperature: float, tokens: int = 400
) -> str | None:
    """Draw from noise that likes to end and to close; None when it was cut by its length."""
    noise = torch.Generator().manual_seed(seed)
    generator = sampling.new_generator(seed, 0)
    said = b""
    closing = [token for token, piece in enumerate(vocabulary.pieces) if piece in (b'"', b"}", b"]", b'"}')]
    for _ in range(tokens):
        logits = torch.randn(SIZE, generator=noise) * 3
        logits[closing] += 12 * max(1.0, temperature)
        logits[list(ENDS)] += 12 * max(1.0, temperature)
        token = sampling.distribution(logits, Sampling(temperature), constraint=constraint).draw(generator)
        if token in ENDS:
            assert constraint.is_complete
            return said.decode()
        constraint.accept(token)
        said += vocabulary.text_bytes(token)
    return None


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_json_mode_says_json_objects(
    forms: Forms, vocabulary: Vocabulary, seed: int, temperature: float
) -> None:
    answer = random_answer(forms.maker(JSON_MODE)(), vocabulary, seed, temperature)
    assert answer is not None
    assert isinstance(json.loads(answer), dict)


PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "kind": {"enum": ["cat", "dog", 7, None]},
        "tags": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3},
    },
    "required": ["name", "age", "kind", "tags"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("seed", range(8))
def test_a_schema_is_kept_to(forms: Forms, vocabulary: Vocabulary, seed: int) -> None:
    answer = random_answer(forms.maker(schema(PERSON, strict=True))(), vocabulary, seed, 1.5)
    assert answer is not None
    said = json.loads(answer)
    assert list(said) == list(PERSON["properties"])
    assert len(said["name"]) <= 12
    assert isinstance(said["age"], int)
    assert 0 <= said["age"] <= 150
    assert said["kind"] in ("cat", "dog", 7, None)
    assert 1 <= len(said["tags"]) <= 3
    assert all(isinstance(tag, bool) for tag in said["tags"])


def test_it_ends_only_where_it_may_and_must_where_nothing_can_follow(forms: Forms, tokenizer: Any) -> None:
    number, done = forms.maker(schema({"type": "integer"}))(), forms.maker(schema({"const": 1}))()
    end, one = 2, tokenizer("1", add_special_tokens=False)["input_ids"][0]
    for constraint in (number, done):
        assert not constraint.is_complete
        assert constraint.apply(torch.zeros(SIZE))[end] == -torch.inf
        constraint.accept(one)
        assert constraint.is_complete
    possible = [set((c.apply(torch.zeros(SIZE)) == 0).nonzero()[:, 0].tolist()) for c in (number, done)]
    assert possible[0] > ENDS
    assert possible[1] == ENDS


def test_choices_do_not_share_their_place(forms: Forms, vocabulary: Vocabulary) -> None:
    make = forms.maker(JSON_MODE)
    first, second = make(), make()
    opening = next(token for token, piece in enumerate(vocabulary.pieces) if piece == b'{"')
    first.accept(opening)
    assert second.apply(torch.zeros(SIZE))[opening] == 0
    second.accept(opening)
    assert torch.equal(first.apply(torch.zeros(SIZE)), second.apply(torch.zeros(SIZE)))


def test_logits_stay_as_they_are_and_others_keep_their_value(forms: Forms) -> None:
    logits = torch.randn(SIZE)
    before = logits.clone()
    masked = forms.maker(JSON_MODE)().apply(logits)
    assert torch.equal(logits, before)
    kept = masked > -torch.inf
    assert torch.equal(masked[kept], logits[kept])
    assert 0 < int(kept.sum()) < 2000


def test_a_token_that_was_not_possible_is_a_fault(forms: Forms, tokenizer: Any) -> None:
    constraint = forms.maker(JSON_MODE)()
    with pytest.raises(EngineError):
        constraint.accept(tokenizer("hello", add_special_tokens=False)["input_ids"][0])


def test_plain_text_needs_no_form(forms: Forms) -> None:
    assert forms.maker(None) is None
    assert forms.maker(ResponseFormat(type="text")) is None


def nested(levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        inner = {"type": "object", "properties": {"a": inner}}
    return inner


HOSTILE = {
    "deep": nested(MAX_DEPTH),
    "very deep": nested(400),
    "large": {"enum": [f"{SECRET}{n}" * 10 for n in range(1000)]},
    "many names": {"type": "object", "properties": {f"{SECRET}{n}": {} for n in range(600)}},
    "long text": {"const": SECRET * 1000},
    "long pattern": {"type": "string", "pattern": SECRET * 100},
    "high count": {"type": "string", "pattern": "a{1000}"},
    "huge count": {"type": "string", "pattern": "a{0,99999999999999999999}"},
    "pattern as a name": {"type": "object", "patternProperties": {"a{1000}": {}}},
    "product of choices": {
        "allOf": [
            {"anyOf": [{"type": "object", "properties": {f"p{i}": {"const": j}}} for j in range(3)]}
            for i in range(10)
        ]
    },
    "look-around": {"type": "string", "pattern": f"(?=.*{SECRET})"},
    "bad pattern": {"type": "string", "pattern": f"({SECRET}"},
    "empty meeting": {"allOf": [{"type": "string", "pattern": f"^.*{c}.*$"} for c in "abcdefghijklmnop"]},
    "big multiples": {"type": "integer", "multipleOf": 987654321},
    "itself": {"$ref": "#"},
    "a ring": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    "nowhere": {"$ref": f"#/$defs/{SECRET}"},
    "a file": {"$ref": "file:///etc/passwd"},
    "an address": {"$ref": f"http://127.0.0.1:9/{SECRET}"},
    "contradiction": {"type": "integer", "minimum": 5, "maximum": 4},
    "no type": {"type": SECRET},
    "wrong kinds": {"type": "object", "properties": [SECRET], "required": 7},
}


@pytest.mark.parametrize("document", HOSTILE.values(), ids=HOSTILE)
def test_hostile_schemas_are_refused_soon_and_not_quoted(forms: Forms, document: dict[str, Any]) -> None:
    forms.maker(JSON_MODE)  # the tokenizer is ready
    before = time.process_time()
    with pytest.raises(RequestError) as refused:
        forms.maker(schema(document, strict=True))
    assert time.process_time() - before < 1.0
    assert (refused.value.status, refused.value.param) == (400, "response_format")
    assert SECRET not in refused.value.message


@pytest.mark.parametrize(
    "document",
    [
        {"type": "string", "pattern": "^(([a-z]{1,100}){1,100}){1,100}$"},
        {"type": "string", "pattern": "^(.*a){50}.{200}$"},
        {"anyOf": [{"type": "string", "pattern": f"^(.{{0,200}}a){{2}}{n}$"} for n in range(300)]},
        {"type": "string", "minLength": 10**9},
        {"type": "array", "items": {"type": "array", "minItems": 10**6}, "minItems": 10**6},
    ],
    ids=range(5),
)
def test_a_form_that_grows_costs_little_at_each_step_or_ends_its_request(
    forms: Forms, document: dict[str, Any]
) -> None:
    constraint = forms.maker(schema(document))()
    generator = torch.Generator().manual_seed(1)
    for _ in range(150):
        before = time.process_time()
        try:
            allowed = (constraint.apply(torch.zeros(SIZE)) == 0).nonzero()[:, 0]
        except EngineError:
            assert constraint._matcher.is_error()
            return
        token = int(allowed[torch.randint(len(allowed), (1,), generator=generator)])
        if token in ENDS:
            return
        constraint.accept(token)
        assert time.process_time() - before < 0.1


def test_what_cannot_be_enforced_is_refused_when_strict_and_left_out_else(forms: Forms) -> None:
    document = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, SECRET: 1}
    with pytest.raises(RequestError, match="uniqueItems") as refused:
        forms.maker(schema(document, strict=True))
    assert SECRET not in refused.value.message
    assert forms.maker(schema(document)) is not None
    assert forms.maker(schema({**document, "uniqueItems": False})) is not None


def test_annotations_and_other_languages_are_left_out(forms: Forms) -> None:
    document = {
        "type": "object",
        "title": "t" * 9000,
        "description": "d" * 9000,
        "x-guidance": {"lenient": True},
        "%lark": "start: /a+/",
        "properties": {"title": {"type": "string", "description": "x"}, "%lark": {"const": {"title": 1}}},
        "required": ["title", "%lark"],
    }
    assert constraints_of(document) == {
        "type": "object",
        "properties": {"title": {"type": "string"}, "%lark": {"const": {"title": 1}}},
        "required": ["title", "%lark"],
    }


def test_compiled_forms_are_remembered_but_not_all(forms: Forms) -> None:
    for number in range(MAX_KEPT + 5):
        forms.maker(schema({"const": number}))
    assert len(forms._known) == MAX_KEPT
    known = list(forms._known)
    forms.maker(schema({"const": 7}))
    assert list(forms._known) == [*known[:0], *(key for key in known if key != known[2]), known[2]]


def test_a_tokenizer_that_the_grammar_cannot_read_is_said_so() -> None:
    class Odd:
        class backend_tokenizer:
            @staticmethod
            def to_str() -> str:
                return "{}"

    with pytest.raises(RequestError) as refused:
        Forms(Odd(), 8, frozenset({1})).maker(JSON_MODE)
    assert refused.value.code == "unsupported_parameter"


keywords = st.sampled_from(
    ["type", "properties", "items", "enum", "const", "anyOf", "$ref", "pattern", "required", "minimum", "not"]
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(max_size=5)
    | st.sampled_from(["object", "string", "array", "#", "a{3}"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(keywords | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@settings(max_examples=60)
@given(document=st.dictionaries(keywords, values, max_size=4), strict=st.booleans())
def test_any_schema_is_compiled_or_refused(forms: Forms, document: dict[str, Any], strict: bool) -> None:
    try:
        make = forms.maker(schema(document, strict=strict))
    except RequestError:
        return
    assert (make().apply(torch.zeros(SIZE)) == 0).any()
    assert orjson.dumps(constraints_of(document))
