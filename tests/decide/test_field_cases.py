"""Wrong hits reported from the field, as dialogues with the decision."""

from __future__ import annotations

import pytest

from semcache.core import Directives, Draft, Hit, Miss
from semcache.decide.decision import decide
from tests.decide.build import NOW, candidate, policy

WRONG = [
    ("fc-068", "How do I switch roaming on before I travel?", "How do I switch roaming off before I travel?"),
    (
        "fc-069",
        "Are guests admitted to the lab after 18:00?",
        "Are guests turned away from the lab after 18:00?",
    ),
    ("fc-069 ports", "Is the default port open?", "Is the default port closed?"),
    (
        "fc-071",
        "How long may customers in Norway return an order?",
        "How long may customers in Japan return an order?",
    ),
    ("fc-074", "How many yen do I get for one euro?", "How many euros do I get for one yen?"),
    ("fc-074 roles", "Can a tenant sue the landlord?", "Can a landlord sue the tenant?"),
    ("fc-077", "Where can I find a taxi?", "Dove posso trovare un taxi per la stazione?"),
]
RIGHT = [
    (
        "fc-068",
        "How do I switch roaming on before I travel?",
        "Which steps activate roaming ahead of a trip?",
    ),
    (
        "fc-069",
        "After 18:00, does the lab turn guests away?",
        "Are guests turned away from the lab after 18:00?",
    ),
    ("fc-072", "What is a kettle?", "Explain what a kettle is for."),
    ("fc-090", "What is the fee for a transfer?", "How much is the fee for a transfer?"),
]


@pytest.mark.parametrize(("case", "stored", "asked"), WRONG)
def test_the_wrong_answer_is_not_served(case: str, stored: str, asked: str) -> None:
    found = decide(
        policy(draft_threshold=0.95), Directives(), asked, [candidate(0.99, prompt=stored)], NOW, None
    )
    assert isinstance(found, Miss), case
    assert found.reason == "gate"
    assert found.vetoes


@pytest.mark.parametrize(("case", "stored", "asked"), RIGHT)
def test_the_right_answer_is_served(case: str, stored: str, asked: str) -> None:
    found = decide(policy(), Directives(), asked, [candidate(0.99, prompt=stored)], NOW, None)
    assert isinstance(found, Hit), (case, found)


def test_every_candidate_is_checked_not_only_the_best() -> None:
    """fc-068: both wrong neighbours are refused, the control behind them is served."""
    asked = "How do I switch roaming off before I travel?"
    crowd = [
        candidate(0.99, "on", prompt="How do I switch roaming on before I travel?"),
        candidate(0.98, "activate", prompt="Which steps activate roaming ahead of a trip?"),
        candidate(0.96, "off", prompt="How can I deactivate roaming before travelling?"),
    ]
    found = decide(policy(), Directives(), asked, crowd, NOW, None)
    assert isinstance(found, Hit)
    assert found.entry.id == "off"


def test_an_unrelated_prompt_is_a_miss_however_many_entries_there_are() -> None:
    """fc-075: distances are read the right way round."""
    crowd = [candidate(score, str(score)) for score in (0.1, 0.2, -0.5)]
    found = decide(policy(), Directives(), "Name three prime numbers", crowd, NOW, None)
    assert found == Miss("below-threshold", (), 0.2)


def test_a_near_miss_of_the_gate_is_offered_for_revision() -> None:
    stored = candidate(0.99, prompt="Fee for 2 transfers?")
    found = decide(policy(), Directives(), "Fee for 5 transfers?", [stored], NOW, None)
    assert found == Draft(stored.entry, 0.99, ("numbers",))
