"""Reading YAML: lines of everything, YAML 1.2 scalars, and the whole table of tricks."""

from __future__ import annotations

import time

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.policy.document import DocumentError, read_document


@pytest.fixture(params=[True, False], ids=["libyaml", "pure"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param and not yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml")
    monkeypatch.setattr(yaml, "__with_libyaml__", request.param)
    return bool(request.param)


@pytest.mark.usefixtures("parser")
def test_values_and_the_line_of_every_path() -> None:
    document = read_document(b"\xef\xbb\xbfa: 1\nb:\n  - x\n  - {c: off}\n", "f.yaml")
    assert document.value == {"a": 1, "b": ["x", {"c": "off"}]}
    assert document.lines == {(): 1, ("a",): 1, ("b",): 3, ("b", 0): 3, ("b", 1): 4, ("b", 1, "c"): 4} | {
        ("b",): 2
    }


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("off", "off"), ("no", "no"), ("yes", "yes"), ("on", "on"), ("true", True), ("False", False), ("null", None),
        ("~", None), ("", None), ("7", 7), ("-3", -3), ("0.97", 0.97), (".5", 0.5), ("1e2", 100.0), ("1_000", "1_000"),
        ("0x1f", "0x1f"), ("0o7", "0o7"), ("1:30", "1:30"), ("2026-01-01", "2026-01-01"), (".inf", ".inf"),
        (".nan", ".nan"), ("'1'", "1"), ('"true"', "true"), ("9" * 41, "9" * 41), ("010", 10), ("a: b", {"a": "b"}),
    ],
)  # fmt: skip
def test_plain_scalars_follow_yaml_1_2(text: str, value: object) -> None:
    assert read_document(f"- {text}\n".encode(), "f.yaml").value == [value]


BOMB = "a: &a [x, x]\n" + "".join(f"b{i}: &b{i} [*a, *a, *a]\n" for i in range(9))


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "f.yaml:1: the file is empty"),
        (b"# only words\n", "the file is empty"),
        (b"a: &x 1\n", "f.yaml:1: a: anchors (&) and aliases (*) are not allowed"),
        (b"x: 1\na: *x\n", "f.yaml:2: a: anchors"),
        (BOMB.encode(), "f.yaml:1: a: anchors"),
        (b"&k a: 1\n", "anchors"),
        (b"a: &s [1]\n", "anchors"),
        (b"a: !!python/object/apply:os.system [ls]\n", "f.yaml:1: a: tags (!) are not allowed"),
        (b"a: !!str x\n", "tags"),
        (b"a: !local {b: 1}\n", "tags"),
        (b"a: 1\nb: 2\na: 3\n", "f.yaml:3: a: this key stands here twice (first in line 1)"),
        (b"a: {b: 1, 'b': 2}\n", "a.b: this key stands here twice"),
        (b"<<: {a: 1}\n", "merge keys"),
        (b"a: 1\n---\nb: 2\n", "f.yaml:2: holds a second document"),
        (b"\xff\xfea\x00", "is not UTF-8"),
        (b"a: 1\nb: \xc3(\n", "f.yaml:2: is not UTF-8"),
        (b"a: 1\nb: \x00\n", "is not YAML"),
        (b"a: \x1b[31m\n", "is not YAML"),
        (b"a\n b: : c\n", "is not YAML"),
        (b"a: [1, 2\n", "is not YAML"),
        (b"a: '\n", "is not YAML"),
        (b"\tb: 1\n", "is not YAML"),
        (b"a: |\n  x\n y\n", "is not YAML"),
        (b"? [a]\n: b\n", "a key should be a text"),
        (b"? {a: 1}\n: b\n", "a key should be a text"),
        (b"%YAML 3.0\n---\na: 1\n", "is not YAML"),
    ],
)
def test_tricks_are_refused_with_a_line(data: bytes, says: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_document(data, "f.yaml")
    assert says in str(caught.value)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    "data",
    [
        b"[" * 200_000,
        b"{" * 200_000,
        b"- " * 100_000,
        b"? " * 100_000,
        (b"[" * 18) + (b"]" * 18),
    ],
)
def test_depth_is_bounded_without_recursion(data: bytes) -> None:
    began = time.perf_counter()
    with pytest.raises(DocumentError, match=r"deep|nesting|not YAML|a key should be"):
        read_document(data, "f.yaml")
    assert time.perf_counter() - began < 3


@pytest.mark.usefixtures("parser")
def test_number_of_values_is_bounded() -> None:
    with pytest.raises(DocumentError, match="more than 20000 values"):
        read_document(b"[" + b"1," * 30_000 + b"1]", "f.yaml")


def test_messages_never_quote_a_value() -> None:
    secret = "sk-live-abcdef"
    for text in (
        f"a: &{secret} 1",
        f"a: *{secret}",
        f"a: !{secret} 1",
        f"a: '{secret}",
        f"{secret}: [",
        f"@{secret}",
    ):
        with pytest.raises(DocumentError) as caught:
            read_document(text.encode(), "f.yaml")
        assert secret not in str(caught.value)


@given(
    st.binary(max_size=300) | st.text(alphabet="ab:-[]{}&*!|>'\"#%@?, \n\t0.", max_size=200).map(str.encode)
)
@settings(max_examples=300)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    problem = None
    try:
        assert () in read_document(data, "f.yaml").lines
    except DocumentError as error:
        problem = error.problem
    if problem is not None:
        assert "\n" not in str(problem)
        assert problem.line >= 1
