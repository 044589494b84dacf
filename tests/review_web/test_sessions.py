from __future__ import annotations

from semcache.review.web.sessions import Sessions


class Ticking:
    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


def test_a_session_lives_while_it_is_used_but_not_for_ever() -> None:
    now = Ticking()
    sessions: Sessions[str] = Sessions(now, idle=60, absolute=300)
    held = sessions.begin("lin").id
    for _ in range(5):
        now.at += 59
        assert sessions.find(held) is not None
    now.at += 10
    assert sessions.find(held) is None


def test_looking_by_itself_does_not_keep_a_session() -> None:
    now = Ticking()
    sessions: Sessions[str] = Sessions(now, idle=60, absolute=300)
    held = sessions.begin("lin").id
    now.at += 50
    assert sessions.find(held, is_used=False) is not None
    now.at += 20
    assert sessions.find(held) is None


def test_an_unknown_or_ended_session_is_none() -> None:
    sessions: Sessions[str] = Sessions(Ticking())
    session = sessions.begin("lin")
    assert sessions.find("") is None
    assert sessions.find(session.id + "x") is None
    sessions.end(session.id)
    sessions.end(session.id)
    assert sessions.find(session.id) is None


def test_the_oldest_session_makes_room() -> None:
    sessions: Sessions[int] = Sessions(Ticking())
    ids = [sessions.begin(i).id for i in range(1001)]
    assert sessions.find(ids[0]) is None
    assert sessions.find(ids[1]) is not None


def test_a_form_belongs_to_its_cookie() -> None:
    sessions: Sessions[str] = Sessions(Ticking())
    one, other = sessions.begin("a"), sessions.begin("b")
    assert sessions.is_ours(one.id, one.csrf)
    assert not sessions.is_ours(one.id, other.csrf)
    assert not sessions.is_ours("", sessions.csrf_of(""))
    assert not sessions.is_ours(one.id, "\ud800é")
    stranger: Sessions[str] = Sessions(Ticking())
    assert not stranger.is_ours(one.id, one.csrf)


def test_notices_are_told_once() -> None:
    session = Sessions[str](Ticking()).begin("a")
    session.say("done.approve", "e1")
    assert [notice.key for notice in session.told()] == ["done.approve"]
    assert session.told() == []
