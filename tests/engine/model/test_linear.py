"""Products by kind: close to the exact ones, each row alone, and still there in this torch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from semcache.engine.model import kernels, linear
from semcache.engine.model.linear import InRows, Linear, Plain, RowInt8, SplitInt8, packed
from semcache.errors import EngineError

KINDS: dict[str, tuple[Callable[[Tensor, Tensor | None], Linear], float]] = {
    "packed": (packed, 1e-5),
    "plain": (Plain, 1e-5),
    "row int8": (RowInt8, 0.03),
    "split int8": (SplitInt8, 0.01),
}
"""Makers, and how far results may be from the exact ones, relative to their length."""


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> tuple[Callable[[Tensor, Tensor | None], Linear], float]:
    return KINDS[request.param]


def matrix(rows: int, columns: int, seed: int = 0) -> Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


def test_products_are_close(kind: tuple[Callable[[Tensor, Tensor | None], Linear], float]) -> None:
    make, tolerance = kind
    weight, bias, x = matrix(96, 80), matrix(1, 96, 1)[0], matrix(33, 80, 2)
    exact = x.double() @ weight.double().T + bias
    found = make(weight, bias)(x)
    assert (found - exact).norm() <= tolerance * exact.norm()
    without = make(weight, None)(x)
    torch.testing.assert_close(without + bias, found, rtol=1e-5, atol=1e-5)


def test_rows_do_not_feel_their_number_or_neighbours(
    kind: tuple[Callable[[Tensor, Tensor | None], Linear], float],
) -> None:
    make, _ = kind
    product = make(matrix(320, 192), None)
    x = matrix(256, 192, 1)
    alone = torch.cat([product(row[None]) for row in x])
    assert torch.equal(product(x), alone)
    for start, count in ((3, 2), (5, 3), (100, 17), (31, 129)):
        assert torch.equal(product(x[start : start + count]), alone[start : start + count])
    wild = x.clone()
    wild[::3] *= 1e6
    wild[1::3, 7] = float("nan")
    wild[4] = float("inf")
    found = product(wild)
    assert torch.equal(found[2::3], alone[2::3])
    assert not found[1::3].isfinite().any(), "a row that is not a number must not look like one"
    assert not found[4].isfinite().any()


@pytest.mark.parametrize("make", [RowInt8, SplitInt8])
def test_integer_sums_do_not_stick_at_the_ends(make: Callable[[Tensor, Tensor | None], Linear]) -> None:
    """All weights and activations at their largest: a 16-bit sum of two products would stick first."""
    for sign in (1.0, -1.0):
        weight = torch.full((32, 64), sign)
        for x in (torch.ones(5, 64), -torch.ones(5, 64), torch.tensor([1.0, -1.0]).repeat(5, 32)):
            torch.testing.assert_close(make(weight, None)(x), x @ weight.T, rtol=2e-3, atol=1e-3)


def test_rows_of_zeros_and_of_one_value() -> None:
    for make in (RowInt8, SplitInt8):
        product = make(matrix(32, 64), None)
        assert not product(torch.zeros(3, 64)).any()
        same = torch.full((1, 64), 0.25)
        torch.testing.assert_close(product(same), same @ matrix(32, 64).T, rtol=0.02, atol=0.1)


def test_integer_weights_of_zero_stay_zero() -> None:
    weight = matrix(32, 64)
    weight[3] = 0
    assert not RowInt8(weight, None)(matrix(2, 64, 1))[:, 3].any()


def test_the_inner_operators_are_still_there() -> None:
    """When this fails, torch has dropped an operator: packed products are plain then, and int8 is refused."""
    weight = matrix(16, 16)
    assert kernels.packed_product(weight, None) is not None
    assert kernels.integer_product(weight.to(torch.int8), torch.ones(16), 0) is not None


@pytest.mark.parametrize(("out", "into"), [(576, 1536), (192, 576), (896, 4864)])
def test_a_row_of_a_packed_product_has_the_same_bits_in_any_company(out: int, into: int) -> None:
    """Long rows too, and alone too: some kernels add a lone row up in another order."""
    product = kernels.packed_product(matrix(out, into), None)
    assert product is not None
    rows = matrix(9, into)
    together = product(rows)
    for count in range(1, 9):
        assert torch.equal(product(rows[:count]), together[:count]), count
    assert product(rows[:0]).shape == (0, out)


def test_without_the_inner_operators_there_is_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing:
        pass

    monkeypatch.setattr(torch.ops, "mkldnn", Nothing())
    monkeypatch.setattr(torch.ops, "quantized", Nothing())
    weight = matrix(16, 16)
    assert isinstance(packed(weight, None), Plain)
    with pytest.raises(EngineError, match="int8 is not possible"):
        RowInt8(weight, None)


def test_products_in_fixed_rows_see_no_other_number() -> None:
    seen: list[int] = []

    def spy(x: Tensor) -> Tensor:
        seen.append(len(x))
        return x * 2

    product = InRows(spy, 64)
    for rows in (1, 63, 64, 65, 200):
        x = matrix(rows, 4)
        assert torch.equal(product(x), x * 2)
    assert set(seen) == {64}


def test_few_rows_are_filled_up() -> None:
    weight = matrix(64, 64)
    assert linear.LEAST_ROWS == 4
    assert Plain(weight, None)(matrix(1, 64)).shape == (1, 64)
