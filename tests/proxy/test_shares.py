"""One tenant's requests do not take the last places from the others'."""

from __future__ import annotations

from typing import Any

import pytest

from semcache.core import TenantId
from semcache.errors import RequestError
from semcache.proxy.shares import Place, Shares, place_of

LOUD, QUIET = TenantId("loud"), TenantId("quiet")


def test_while_there_is_room_a_tenant_may_have_it() -> None:
    shares = Shares(8)
    places = [Place(shares, {}) for _ in range(6)]
    for place in places:
        place.belong(LOUD)
    assert shares.inside == 6


def test_who_has_half_gets_no_more_where_little_is_left() -> None:
    shares = Shares(8)
    places = []
    for _ in range(7):
        place = Place(shares, {})
        places.append(place)
        if len(places) <= 6:
            place.belong(LOUD)
    with pytest.raises(RequestError) as caught:
        places[6].belong(LOUD)
    error = caught.value
    assert (error.status, error.code, error.type) == (429, "tenant_busy", "rate_limit_error")
    assert error.headers == (("retry-after", "1"),)
    places[6].leave()
    quiet = [Place(shares, {}) for _ in range(2)]
    for place in quiet:
        place.belong(QUIET)
    for place in (*places[:6], *quiet):
        place.leave()
    assert shares.inside == 0
    again = [Place(shares, {}) for _ in range(6)]
    for place in again:
        place.belong(LOUD)


def test_a_place_is_found_in_the_scope_and_belongs_to_the_first() -> None:
    shares = Shares(2)
    scope: dict[str, Any] = {}
    assert place_of(scope) is None
    place = Place(shares, scope)
    assert place_of(scope) is place
    place.belong(LOUD)
    place.belong(QUIET)
    place.leave()
    assert shares.inside == 0
