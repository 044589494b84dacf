"""Text comes out whole, whatever the cuts."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.engine.detokenise import StopGuard, Utf8Stream


def cut(data, cuts):
    """Cut a sequence at the given places."""
    places = sorted({place % (len(data) + 1) for place in cuts})
    edges = [0, *places, len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


def run_guard(stops, pieces):
    """Feed pieces until a stop; give (text shown, stopped)."""
    guard = StopGuard(stops)
    shown = ""
    for piece in pieces:
        text, stopped = guard.feed(piece)
        shown += text
        if stopped:
            return shown, True
    return shown + guard.flush(), False


cuts = st.lists(st.integers(0, 200), max_size=12)


@given(st.text(), cuts)
def test_text_survives_any_cutting_of_its_bytes(text: str, where: list[int]) -> None:
    stream = Utf8Stream()
    assert "".join(stream.feed(piece) for piece in cut(text.encode(), where)) == text


@given(st.text(min_size=1))
def test_no_piece_shows_half_a_character(text: str) -> None:
    stream = Utf8Stream()
    shown = [stream.feed(bytes((byte,))) for byte in text.encode()]
    assert [piece for piece in shown if piece] == list(text)


@given(st.binary(), cuts)
def test_invalid_bytes_are_replaced_as_a_decoder_does(data: bytes, where: list[int]) -> None:
    stream = Utf8Stream()
    shown = "".join(stream.feed(piece) for piece in cut(data, where))
    whole = data.decode("utf-8", "replace")
    assert whole.startswith(shown)
    assert whole[len(shown) :] in ("", "\ufffd")  # an unfinished last character is left out, not guessed


def test_a_real_replacement_character_passes() -> None:
    assert Utf8Stream().feed("a\ufffdb".encode()) == "a\ufffdb"


def test_an_answer_that_ends_inside_a_character_shows_nothing_of_it() -> None:
    assert Utf8Stream().feed("ok😀".encode()[:-1]) == "ok"


@pytest.mark.parametrize(("pieces", "shown"), [([b" Hello", b" you"], "Hello you"), ([b"", b"  a"], " a")])
def test_first_space_is_dropped_once(pieces: list[bytes], shown: str) -> None:
    stream = Utf8Stream(drop_first_space=True)
    assert "".join(stream.feed(piece) for piece in pieces) == shown


small = st.text(alphabet="ab😀", max_size=30)
stop_sets = st.lists(st.text(alphabet="ab😀", min_size=1, max_size=4), max_size=4).map(tuple)


@given(stop_sets, small, cuts)
def test_stops_do_not_depend_on_the_cuts(stops: tuple[str, ...], text: str, where: list[int]) -> None:
    assert run_guard(stops, cut(text, where)) == run_guard(stops, list(text))


@given(stop_sets, small, cuts)
def test_the_text_before_the_stop_is_shown_and_nothing_else(stops, text: str, where: list[int]) -> None:
    shown, stopped = run_guard(stops, cut(text, where))
    assert text.startswith(shown)
    assert not any(stop in shown for stop in stops)
    assert stopped == any(stop in text for stop in stops)
    if stopped:
        assert any(text[len(shown) :].startswith(stop) for stop in stops)
    else:
        assert shown == text


@pytest.mark.parametrize(
    ("stops", "text", "shown"),
    [
        (("END",), "to the END of", "to the "),
        (("abcX", "bc"), "abcX", "a"),  # `bc` is complete first
        (("bc", "abc"), "xabc", "x"),  # complete together: the longer one
        (("aab",), "aaab", "a"),
        ((), "anything", "anything"),
    ],
)
def test_which_stop_wins(stops: tuple[str, ...], text: str, shown: str) -> None:
    assert run_guard(stops, [text])[0] == shown


def test_text_that_cannot_become_a_stop_is_not_held() -> None:
    guard = StopGuard(("\n\n",))
    assert guard.feed("one\n") == ("one", False)
    assert guard.feed("two") == ("\ntwo", False)
