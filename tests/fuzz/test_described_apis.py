"""Our own OpenAPI documents against what the listeners do: any request they describe, and many that they do not."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.e2e.running import Proxy
from tests.e2e.test_review import Admin

EXAMPLES = 6
"""Requests an operation, valid and not, in the default run."""
MANY = 400

# That a value fits its type does not make it one of ours: a cursor, a grouping or an If-Match that we never gave is
# refused, and no schema can say which those are. The other checks hold: no 5xx, and every reply as described.
EXCLUDED = [schemathesis.checks.positive_data_acceptance]
MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)


def problems_of(url: str, head: dict[str, str], examples: int) -> str:
    """Ask each operation with generated requests; gives what was not as the document says, "" where all was."""
    found: list[str] = []
    asked = 0
    schema: Any = schemathesis.openapi.from_url(url)
    for result in schema.get_all_operations():
        operation = result.ok()

        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in MODES)))
        def ask(case: schemathesis.Case) -> None:
            nonlocal asked
            asked += 1
            case.call_and_validate(headers=head, excluded_checks=EXCLUDED)

        try:
            ask()
        except BaseExceptionGroup as error:
            found.append(f"{operation.label}: {error}")
    assert asked > examples
    return "\n".join(found)


def admin_problems(admin: Admin, examples: int) -> str:
    head = {"authorization": f"Bearer {admin.token}"}
    return problems_of(f"{admin.url}/v1/openapi.json", head, examples)


def own_problems(proxy: Proxy, examples: int) -> str:
    return problems_of(f"{proxy.url}/semcache/openapi.json", {"authorization": "Bearer sk-fuzz"}, examples)


def none(problems: str) -> None:
    """Fail with all that was found, whole."""
    if problems:
        pytest.fail(problems, pytrace=False)


def test_the_admin_api_is_as_described(admin: Admin) -> None:
    none(admin_problems(admin, EXAMPLES))
    assert admin.ask("GET", "/v1/me")[0] == 200


def test_our_own_paths_are_as_described(proxy: Proxy) -> None:
    none(own_problems(proxy, EXAMPLES))
    assert proxy.request("GET", "/livez").status == 200


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_both_are_as_described_for_many(proxy: Proxy, admin: Admin) -> None:
    none(own_problems(proxy, MANY))
    none(admin_problems(admin, MANY))
