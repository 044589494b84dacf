"""Explaining: the same result as resolving, and a true account of how it came about."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import Caller, ChatRequest, Directives, TenantId
from semcache.errors import RequestError
from semcache.policy.explain import Change, explain, explain_tightening
from tests.policy.samples import MINIMAL, TWO_DOMAINS, chat, snapshot

POLICIES = snapshot(
    TWO_DOMAINS, MINIMAL.replace("acme", "small") + "models: [gpt]\nassign: {header: false}\n"
)
ME = Caller(TenantId("acme"), key_name="web")
requests = st.builds(
    chat,
    model=st.sampled_from(["gpt", "code-1"]),
    system=st.sampled_from(["", "You are a doctor"]),
    path=st.sampled_from(["/v1/chat/completions", "/v1/completions"]),
    end_user=st.sampled_from(["", "u"]),
)
wishes = st.builds(
    Directives,
    mode=st.sampled_from(["auto", "exact", "draft", "off"]),
    ttl=st.none() | st.floats(0, 1e6),
    threshold=st.none() | st.floats(0, 1),
    max_age=st.none() | st.floats(0, 1e6),
    no_store=st.booleans(),
    user=st.sampled_from(["", "u"]),
    domain=st.sampled_from(["", "chat", "medical", "private", "nonsense"]),
)


@given(requests, wishes, st.sampled_from(["acme", "small", "gone"]))
def test_explaining_gives_what_resolving_gives(request: ChatRequest, asked: Directives, tenant: str) -> None:
    caller = Caller(TenantId(tenant), key_name="web")
    explained = explain(POLICIES, request, caller, asked)
    try:
        resolved = POLICIES.resolve(request, caller, asked)
        refusal = ""
    except RequestError as error:
        resolved, refusal = None, error.message
    assert (explained.policy, explained.refusal) == (resolved, refusal)


@given(requests, wishes)
def test_the_changes_lead_from_the_assigned_policy_to_the_result(
    request: ChatRequest, asked: Directives
) -> None:
    explained = explain(POLICIES, request, ME, asked)
    if explained.policy is None:
        return
    assigned = explained.steps[1].what.rsplit("domain ", 1)[1]
    knobs = dataclasses.asdict(POLICIES.by_tenant[ME.tenant].domains[assigned]).keys()
    state = {name: str(getattr(POLICIES.by_tenant[ME.tenant].domains[assigned], name)) for name in knobs}
    for step in explained.steps:
        for change in step.changes:
            assert state[change.knob] == change.before
            state[change.knob] = change.after
    assert state == {name: str(getattr(explained.policy, name)) for name in state}


def test_an_account_in_words() -> None:
    request = chat(system="You are a doctor")
    steps = explain(POLICIES, request, ME, Directives(domain="private", ttl=60, threshold=0.99)).steps
    assert [(step.what, step.where) for step in steps] == [
        ("tenant acme, by key web", "policy0.yaml:2"),
        ("rule doctor matches: domain medical", "policy0.yaml:26"),
        ("the client names domain private", "policy0.yaml:23"),
        ("the client's threshold", ""),
        ("the client's lifetime", ""),
        ("scope user, and the request names no user", ""),
    ]
    assert Change("ttl", "3600.0", "60") in steps[4].changes
    assert steps[5].changes == (Change("mode", "semantic", "off"),)


@pytest.mark.parametrize(
    ("caller", "says"),
    [
        (Caller(TenantId("acme"), principal="f" * 64), "tenant acme, by a key passed to the upstream"),
        (Caller(TenantId("acme")), "tenant acme, without a key, from this machine"),
    ],
)
def test_how_the_caller_came_in(caller: Caller, says: str) -> None:
    assert explain(POLICIES, chat(), caller, Directives()).steps[0].what == says


def test_rules_without_a_name_are_called_by_number() -> None:
    steps = explain(POLICIES, chat(path="/v1/completions", model="code-1"), ME, Directives()).steps
    assert (steps[1].what, steps[1].where) == ("rule number 1 matches: domain code", "policy0.yaml:29")
    assert explain(POLICIES, chat(), ME, Directives()).steps[1].where == "policy0.yaml:6"


def test_no_prompt_text_in_an_account() -> None:
    explained = explain(
        POLICIES, chat(system="You are a doctor, secret-word"), ME, Directives(user="secret-user")
    )
    assert "secret" not in repr(explained)
    assert "hello" not in repr(explained)


def test_the_classifiers_tightening() -> None:
    before = POLICIES.resolve(chat(), ME, Directives())
    step = explain_tightening(before, POLICIES.tighten(before, "medical"), "the classifier says medical")
    assert Change("threshold", "0.92", "0.97") in step.changes
