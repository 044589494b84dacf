"""The `costs` part of a policy file: what it comes to, what it refuses with file and line, what it warns of."""

from __future__ import annotations

import pytest

from semcache.core import TenantId
from semcache.cost_rules import BudgetRule, CostPolicy, Counts, HitCharge, OnHard, OnUnknownPrice
from semcache.policy.access import hash_key
from semcache.policy.checks import check_file
from semcache.policy.lint import lint
from semcache.policy.loader import load_default, read_file
from semcache.policy.snapshot import build_snapshot
from tests.policy.samples import MINIMAL, source

ACME = TenantId("acme")
KEYS = f"""access:
  keys:
    - {{name: shop, hash: "{hash_key("sk-shop")}", labels: {{project: shop, environment: prod}}}}
    - {{name: lab, hash: "{hash_key("sk-lab")}"}}
"""
FULL = """costs:
  hit_charge: fixed
  hit_usd: 0.001
  assumed_output: 500
  budgets:
    - name: research
      window: week
      labels: {project: shop, business_line: retail}
      models: gpt-5*
      keys: [shop]
      soft_usd: 0.1
      hard_usd: 12.345678
      requests: 0
      counts: charged
      on_hard: refuse
      unknown_price: allow
    - {name: plain, soft_usd: 80}
"""


def test_a_file_without_costs_limits_nothing() -> None:
    assert build_snapshot([source(MINIMAL)]).costs(ACME) == CostPolicy()
    assert load_default().costs(TenantId("default")) == CostPolicy()


def test_every_knob_reaches_the_rules_and_money_is_exact() -> None:
    assert build_snapshot([source(MINIMAL + KEYS + FULL)]).costs(ACME) == CostPolicy(
        budgets=(
            BudgetRule(
                name="research",
                window="week",
                labels=(("project", "shop"), ("business_line", "retail")),
                models=("gpt-5*",),
                keys=("shop",),
                soft=100_000,
                hard=12_345_678,
                requests=0,
                counts=Counts.CHARGED,
                on_hard=OnHard.REFUSE,
                unknown_price=OnUnknownPrice.ALLOW,
            ),
            BudgetRule(name="plain", soft=80_000_000),
        ),
        hit_charge=HitCharge.FIXED,
        hit_price=1000,
        assumed_output=500,
    )


@pytest.mark.parametrize("written", ["0.1", "1.1", "4.35", "1234567.891234", "1e-6", "999999999.999999"])
def test_what_is_written_is_what_counts(written: str) -> None:
    (rule,) = (
        build_snapshot([source(f"{MINIMAL}costs: {{budgets: [{{name: a, hard_usd: {written}}}]}}\n")])
        .costs(ACME)
        .budgets
    )
    whole, _, rest = f"{float(written):.6f}".partition(".")
    assert rule.hard == int(whole) * 10**6 + int(rest)


def test_labels_of_a_key_go_with_its_caller() -> None:
    policies = build_snapshot([source(MINIMAL + KEYS)])
    shop, lab = (policies.authenticate(f"Bearer sk-{name}", None, False) for name in ("shop", "lab"))
    assert (shop.key_name, shop.labels) == ("shop", (("project", "shop"), ("environment", "prod")))
    assert (lab.key_name, lab.labels) == ("lab", ())


def test_costs_are_part_of_the_generation() -> None:
    first, second = (
        build_snapshot([source(MINIMAL + KEYS + text)]) for text in (FULL, FULL.replace("80", "81"))
    )
    assert first.generation != second.generation


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        ("{name: a}", "6: costs.budgets[0]: should state soft_usd, hard_usd or requests"),
        ("{name: a, soft_usd: 2, hard_usd: 1}", "costs.budgets[0]: soft_usd should be at most hard_usd"),
        ("{name: a, hard_usd: -1}", "costs.budgets[0].hard_usd: should be a number of US dollars from 0"),
        ("{name: a, hard_usd: .nan}", "costs.budgets[0].hard_usd: should be a number of US dollars"),
        ("{name: a, hard_usd: .inf}", "costs.budgets[0].hard_usd: should be a number of US dollars"),
        ("{name: a, hard_usd: 1e10}", "costs.budgets[0].hard_usd: should be a number of US dollars"),
        ('{name: a, hard_usd: "$5"}', "costs.budgets[0].hard_usd: should be a number of US dollars"),
        ("{name: a, hard_usd: true}", "costs.budgets[0].hard_usd: should be a number of US dollars"),
        ("{name: a, hard_usd: 0.0000001}", "costs.budgets[0].hard_usd: should have six decimals at most"),
        ("{name: a, requests: 1.5}", "costs.budgets[0].requests: should be a valid integer"),
        ("{name: a, requests: -1}", "costs.budgets[0].requests: should be greater than or equal to 0"),
        ("{name: a b, requests: 1}", "costs.budgets[0].name: should match"),
        ("{requests: 1}", "costs.budgets[0].name: is missing"),
        ("{name: a, window: year, requests: 1}", "costs.budgets[0].window: should be hour, day, week or month"),
        ("{name: a, requests: 1, on_hard: ignore}", "costs.budgets[0].on_hard: should be cache_only or refuse"),
        ("{name: a, requests: 1, labels: {team: x}}", "costs.budgets[0].labels.team: unknown key"),
        ("{name: a, requests: 1, labels: {project: ''}}", "costs.budgets[0].labels.project: "),
        ('{name: a, requests: 1, labels: {project: "a\\tb"}}', "costs.budgets[0].labels.project: should be printable"),
        ("{name: a, requests: 1, keys: [nobody]}", "6: costs.budgets[0].keys[0]: should be the name of a key"),
        ("{name: a, requests: 1}, {name: a, soft_usd: 1}", "6: costs.budgets[1].name: this name stands here twice"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_place(budget: str, says: str) -> None:
    found, problems = read_file(f"{MINIMAL}costs: {{budgets: [{budget}]}}\n".encode(), "policy.yaml")
    problems = problems or (check_file(found) if found is not None else [])
    assert any(says in str(problem) for problem in problems), [str(problem) for problem in problems]
    assert all(str(problem).startswith("policy.yaml:6: ") for problem in problems)


@pytest.mark.parametrize("text", ["hit_charge: fixed", "hit_usd: 1", "hit_usd: 1, hit_charge: full"])
def test_a_price_of_hits_and_its_kind_belong_together(text: str) -> None:
    _, problems = read_file(f"{MINIMAL}costs: {{{text}}}\n".encode(), "policy.yaml")
    assert "hit_usd and hit_charge: fixed belong together" in str(problems[0])


@pytest.mark.parametrize(
    ("budget", "warned"),
    [
        ("labels: {project: shop}", []),
        ("labels: {project: shop, environment: prod}, keys: [shop]", []),
        ("labels: {project: shop}, keys: [lab]", ["project"]),
        ("labels: {project: atlas}", ["project"]),
        ("labels: {project: shop, task: search}", ["task"]),
        ("keys: [lab]", []),
    ],
)
def test_a_budget_that_clients_may_leave_gives_a_warning(budget: str, warned: list[str]) -> None:
    text = f"{MINIMAL}{KEYS}costs: {{budgets: [{{name: a, requests: 1, {budget}}}]}}\n"
    found = [problem for problem in lint(source(text)) if "costs" in problem.path]
    assert [problem.path.rpartition(".")[2] for problem in found] == warned
    assert all("no key has this label" in problem.message and problem.line == 10 for problem in found)
