"""Who reaches whose prefixes: the public head is everybody's, the rest its owner's alone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from semcache.engine.layers import PUBLIC, Layer, Layers, Owner
from semcache.engine.prefix.tree import PrefixTree
from semcache.engine.runs import Run, total
from tests.engine.prefix.recent import tenant, tokens, tree

HEAD = list(range(1000))


def layers(owner: Owner) -> Layers:
    return (Layer(len(HEAD), PUBLIC), Layer(1 << 30, owner))


def run(index: PrefixTree, prompt: list[int], owners: Layers, slot: int) -> int:
    """Compute what is missing of a prompt; give how much was."""
    text = tokens(prompt)
    found = index.match(text, owners)
    need = len(prompt) - found.length
    inserted = index.insert(
        index.lock(found, found.length, 1.0), text, owners, (Run(slot, need),) if need else (), 1.0
    )
    index.unlock(inserted.handle)
    return need


def test_256_tenants_hold_one_public_head_once() -> None:
    index = tree(100_000)
    slot = computed = 0
    for number in range(256):
        need = run(index, [*HEAD, 7, 7, number], layers(tenant(f"t{number}")), slot)
        slot += need
        computed += need
    assert computed == index.tokens == len(HEAD) + 256 * 3
    assert index.held[""] == len(HEAD)
    handles = []
    for number in range(256):
        text, owners = tokens([*HEAD, 7, 7, number]), layers(tenant(f"t{number}"))
        handles.append(index.lock(index.match(text, owners), len(HEAD) + 3, 2.0))
    assert {handle.runs[0] for handle in handles} == {Run(0, len(HEAD))}
    assert len({handle.runs[1] for handle in handles}) == 256
    assert {handle.public_length for handle in handles} == {len(HEAD)}
    assert index.snapshot(2.0, 1)[0].users == 256
    index.check_integrity()


def test_no_private_token_is_reachable_by_another() -> None:
    """A tenant's secret prompt and guesses of it look to another as if it had never been there. (fak 3889)"""
    secret = list(range(5000, 7000))
    warm, cold = tree(10_000), tree(10_000)
    for index in (warm, cold):
        run(index, HEAD, layers(PUBLIC), 0)
    run(warm, HEAD + secret, layers(tenant("a")), 1000)
    for owner in (tenant("b"), tenant("a", b"other"), tenant("A"), Owner("", b"a"), PUBLIC, Owner("a", b"")):
        for guess in (secret, secret[:1], [*secret[:50], 1], [*secret, 1]):
            seen = [index.match(tokens(HEAD + guess), layers(owner)).length for index in (warm, cold)]
            assert seen == [len(HEAD), len(HEAD)]
        assert warm.match(tokens(secret), (Layer(9999, owner),)).length == 0
    assert warm.match(tokens(HEAD + secret), layers(tenant("a"))).length == len(HEAD) + len(secret)


def test_a_hidden_token_cannot_be_claimed_by_moving_the_border() -> None:
    index = tree(10_000)
    run(index, [1, 2, 3, 4], (Layer(2, PUBLIC), Layer(4, tenant("a"))), 0)
    assert index.match(tokens([1, 2, 3, 4]), (Layer(4, PUBLIC),)).length == 2
    assert index.match(tokens([1, 2, 3, 4]), (Layer(3, PUBLIC), Layer(4, tenant("a")))).length == 2
    assert index.match(tokens([1, 2, 3, 4]), (Layer(1, PUBLIC), Layer(4, tenant("a")))).length == 1


def test_a_border_cuts_a_node_even_inside_one_run() -> None:
    index = tree(10_000)
    run(index, [*HEAD, 1, 2], layers(tenant("a")), 0)
    shown = index.snapshot(1.0, 9)
    assert [(node.start, node.tokens) for node in shown] == [(0, 1000), (1000, 2)]
    assert index.held == {"": 1000, "a": 2}


def test_three_layers_share_as_far_as_they_agree() -> None:
    """Public head, tenant's part, one user's tail."""
    index = tree(10_000)
    part, user, other = tenant("a", b"all"), tenant("a", b"user 1"), tenant("a", b"user 2")
    prompt = [*HEAD, *range(50), 5, 6]
    run(index, prompt, (Layer(1000, PUBLIC), Layer(1050, part), Layer(9999, user)), 0)
    theirs = (Layer(1000, PUBLIC), Layer(1050, part), Layer(9999, other))
    assert index.match(tokens(prompt), theirs).length == 1050
    assert index.match(tokens(prompt), (Layer(1000, PUBLIC), Layer(9999, tenant("b", b"all")))).length == 1000


def test_adapters_never_share() -> None:
    """Base model, adapter a, adapter b, base again: equal tokens, nothing shared but with oneself. (vllm 3264)"""
    index = tree(10_000)
    owners = [(Layer(9999, Owner("", salt)),) for salt in (b"", b"adapter a", b"adapter b")]
    assert [run(index, HEAD, owner, 1000 * at) for at, owner in enumerate(owners)] == [1000, 1000, 1000]
    assert run(index, HEAD, owners[0], 5000) == 0
    trees = [tree(identity=(("model", "m"), ("adapter", name))) for name in ("", "a", "b")]
    assert len({one.digest(tokens(HEAD), ()) for one in trees}) == 3


def test_an_adapters_name_is_not_a_salt() -> None:
    """(sglang 25351): who is "x" of one kind never meets "x" of another kind."""
    index = tree(10_000)
    for at, owner in enumerate(
        (Owner("x", b""), Owner("", b"x"), Owner("xx", b""), Owner("x", b"x"), Owner("", b"xx"))
    ):
        assert run(index, [1, 2, 3], (Layer(9, owner),), 10 * at) == 3


def test_owners_that_hold_nothing_are_forgotten() -> None:
    index = tree(100)
    for number in range(1000):
        run(index, [1, number], (Layer(9, tenant(f"t{number}")),), 0)
        assert total(index.evict(2, 2.0)) == 2
    assert index.counts().owners == 0
    assert index.held == {}
    assert len(index._store.owners) == 1


PROGRAM = """
from tests.engine.prefix.recent import tenant, tokens, tree
from semcache.engine.layers import PUBLIC, Layer
index = tree(identity=(("model", "m"),))
print(index.digest(tokens(range(40)), (Layer(10, PUBLIC), Layer(99, tenant("a")))).hex())
"""


@pytest.mark.parametrize("seed", ["1", "4711"])
def test_a_digest_is_the_same_in_every_process(seed: str) -> None:
    """(LMCache 2535): the next process, with another hash seed, finds what this one named."""
    env = {**os.environ, "PYTHONHASHSEED": seed}
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True
    )
    index = tree(identity=(("model", "m"),))
    here = index.digest(tokens(range(40)), (Layer(10, PUBLIC), Layer(99, tenant("a"))))
    assert said.stdout.strip() == here.hex() == "b73dab502b0a94de4ae43ba2436f7aa5"
