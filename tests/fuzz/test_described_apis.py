"""Our own OpenAPI documents against what the listeners do: any request they describe, and many that they do not."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it brings no types
from schemathesis.core.parameters import ParameterLocation

from tests.e2e.running import Proxy
from tests.e2e.test_review import Admin

EXAMPLES = 6
"""Requests an operation, valid and not, in the default run."""
MANY = 400

# That a value fits its type does not make it one of ours: a cursor, a grouping or an If-Match that we never gave is
# refused, and no schema can say which those are. The other checks hold: no 5xx, and every reply as described.
EXCLUDED = [schemathesis.checks.positive_data_acceptance]
# What breaks one branch of a `oneOf` may be another branch's: such a body counts as bad for its maker and is none.
MISTAKEN = [*EXCLUDED, schemathesis.checks.negative_data_rejection]
MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)


def bodies_of(document: dict[str, Any], operation: Any) -> Draft202012Validator | None:
    """Give what judges the bodies of an operation, None where it takes none."""
    raw = operation.definition.raw.get("requestBody", {}).get("content", {}).get("application/json")
    return Draft202012Validator({**raw["schema"], "components": document["components"]}) if raw else None


def is_mistaken(case: schemathesis.Case[Any], fits: Draft202012Validator | None) -> bool:
    """Say whether nothing but its body is meant to be bad, and the body is as described after all."""
    if case.meta is None or fits is None:
        return False
    bad = [place for place, component in case.meta.components.items() if component.mode.is_negative]
    return bad == [ParameterLocation.BODY] and bool(fits.is_valid(case.body))


def problems_of(url: str, head: dict[str, str], examples: int) -> str:
    """Ask each operation with generated requests; gives what was not as the document says, "" where all was."""
    schema: Any = schemathesis.openapi.from_url(url)
    operations = [result.ok() for result in schema.get_all_operations()]
    assert operations
    told = (problems_at(one, bodies_of(schema.raw_schema, one), head, examples) for one in operations)
    return "\n".join(found for found in told if found)


def problems_at(
    operation: Any, fits: Draft202012Validator | None, head: dict[str, str], examples: int
) -> str:
    asked = 0

    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in MODES)))
    def ask(case: schemathesis.Case[Any]) -> None:
        nonlocal asked
        asked += 1
        excluded = MISTAKEN if is_mistaken(case, fits) else EXCLUDED
        case.call_and_validate(headers=head, excluded_checks=excluded)

    try:
        ask()
    except BaseExceptionGroup as error:
        return f"{operation.label}: {error}"
    assert asked > 0
    return ""


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
