"""Patterns from policy files: what is let in, what is refused, and that none can hang the loop."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.policy.patterns import SEARCH_SECONDS, compile_pattern, found_in


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("doctor", "You are a DOCTOR."),
        (r"\bdose\b", "the dose is"),
        ("(pharmacy|dosage) desk", "Dosage Desk"),
        ("(?:a|b)c", "bc"),
        (r"[\]x]+y", "]]y"),
        (r"[^]]z", "az"),
        (r"x{2,3}$", "xxx"),
        (r"\p{Han}{2}", "医疗"),
        ("医疗助手", "你是医疗助手"),
        (r"a\{b", "a{b"),
        ("colou?r", "color"),
    ],
)
def test_allowed_and_found(pattern: str, text: str) -> None:
    assert found_in(compile_pattern(pattern), text)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$", "(a|aa)*", "(ab){3}", "(a)?", "(?=x)", "(?<!x)y", "(?P<n>x)", "(?i)x", "(?R)", r"(x)\1", r"\g<1>",
        r"\L<words>", "(*PRUNE)x", "a{e<=1}", "a{1,}", "a{101}", "a{,5}", "x{", "[abc", "(", ")", "a**b{2}{", "\\", r"\é",
        r"\A", "x" * 501, r"\p{Nonsense}", "[b-a]", "*a",
    ],
)  # fmt: skip
def test_refused_with_a_reason(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"is |uses |repeats |should |allowed"):
        compile_pattern(pattern)


def test_a_search_out_of_time_counts_as_found() -> None:
    slow = compile_pattern(".*a.*b.*c.*d.*e")
    began = time.perf_counter()
    assert found_in(slow, "abcd" * 3000)
    assert time.perf_counter() - began < SEARCH_SECONDS * 40


@given(st.text(alphabet="ab(){}[]*+?|\\^$.,0123456789:<>=!pdL", max_size=30), st.text(max_size=50))
def test_any_pattern_compiles_or_is_refused_by_value_error(pattern: str, text: str) -> None:
    try:
        compiled = compile_pattern(pattern)
    except ValueError:
        return
    assert found_in(compiled, text) in (True, False)
