"""Greedy token substitution: free tokens beside an instruction, changed one at a time until the text lands on a victim's vector.

HotFlip (Ebrahimi et al. 2018, arXiv 1712.06751) for encoders: the gradient of the cosine by the embedding of each free token
ranks all tokens of the vocabulary at once, the best few are really tried in one batch, the best of those is kept. The
victim's own tokens are where it begins, since nothing is nearer to a text than its words.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel, AutoTokenizer

_TRIED = 10
"""Candidates that are really embedded in each step."""
_PER_PLACE = 4
_WORD_MARK = "\u2581"
"""What a sentence-piece tokenizer puts before each word."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard is searched: free tokens, steps, and whether they begin as the victim's words or as nothing."""

    free: int = 10
    steps: int = 6
    from_victim: bool = True


class Searcher:
    """An encoder in the attacker's hands, with gradients.

    Args:
        folder: its weights as sentence-transformers keeps them.
        prefix: what the encoder wants before each text.
    """

    def __init__(self, folder: Path, prefix: str = "") -> None:
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self._model: Any = AutoModel.from_pretrained(folder).float().eval()
        self._model.requires_grad_(False)
        self._table: Any = self._model.get_input_embeddings().weight
        self._prefix = self._tokenizer(prefix, add_special_tokens=False)["input_ids"] if prefix else []
        self._banned = self._unusable()

    def attack(self, victim: str, said: str, effort: Effort, seed: int) -> str:
        """Give a text that holds what is to be said and lies as near to the victim as was found."""
        chance = random.Random(seed)
        target = self._vectors([self._whole(self._ids(victim))])[0]
        own = self._ids(victim)
        fixed = self._ids(said)
        free = (own * effort.free)[: max(effort.free, min(len(own), 40))] if effort.from_victim else []
        free = free or [chance.choice(own) for _ in range(effort.free)]
        best = float(self._vectors([self._whole(free + fixed)])[0] @ target)
        for _ in range(effort.steps):
            tried = self._candidates(free, fixed, target, chance)
            found = self._vectors([self._whole(one + fixed) for one in tried]) @ target
            place = int(found.argmax())
            if float(found[place]) <= best + 1e-4:
                break
            best, free = float(found[place]), tried[place]
        return self._text(free + fixed)

    def _text(self, ids: list[int]) -> str:
        pieces = self._tokenizer.convert_ids_to_tokens(ids)
        if any(piece.startswith(_WORD_MARK) for piece in pieces):
            return "".join(pieces).replace(_WORD_MARK, " ").strip()
        return str(self._tokenizer.decode(ids, clean_up_tokenization_spaces=True))

    def _candidates(
        self, free: list[int], fixed: list[int], target: torch.Tensor, chance: random.Random
    ) -> list[list[int]]:
        """Exchange one token, or several at once, where the gradient promises most."""
        start = 1 + len(self._prefix)
        rows = self._table[torch.tensor([self._whole(free + fixed)])].clone().requires_grad_(True)
        with torch.enable_grad():
            (self._pooled(rows, torch.ones(rows.shape[:2]))[0] @ target).backward()
        assert rows.grad is not None
        slope = rows.grad[0, start : start + len(free)]
        promise = slope @ self._table.T - (slope * rows[0, start : start + len(free)].detach()).sum(
            1, keepdim=True
        )
        promise[:, self._banned] = -torch.inf
        chosen = promise.topk(_PER_PLACE, dim=1)
        ranked = sorted(
            (
                (float(gain), place, int(token))
                for place, (gains, tokens) in enumerate(zip(chosen.values, chosen.indices, strict=True))
                for gain, token in zip(gains, tokens, strict=True)
            ),
            reverse=True,
        )
        single = [[*free[:place], token, *free[place + 1 :]] for _, place, token in ranked[: _TRIED // 2]]
        return single + [_exchanged(free, ranked, chance) for _ in range(_TRIED - len(single))]

    def _whole(self, ids: list[int]) -> list[int]:
        return [self._first, *self._prefix, *ids, self._last]

    @property
    def _first(self) -> int:
        return int(self._tokenizer.cls_token_id)

    @property
    def _last(self) -> int:
        return int(self._tokenizer.sep_token_id)

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])[:200]

    def _vectors(self, rows: list[list[int]]) -> torch.Tensor:
        longest = max(map(len, rows))
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
        mask = torch.tensor([[1.0] * len(row) + [0.0] * (longest - len(row)) for row in rows])
        with torch.no_grad():
            return self._pooled(self._table[ids], mask)

    def _pooled(self, embedded: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = self._model(inputs_embeds=embedded, attention_mask=mask).last_hidden_state
        pooled = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return torch.nn.functional.normalize(pooled, dim=1)

    def _unusable(self) -> torch.Tensor:
        """Tokens that text cannot spell: control tokens and those without a reading."""
        size = self._table.shape[0]
        pieces = self._tokenizer.convert_ids_to_tokens(list(range(min(size, len(self._tokenizer)))))
        bad = [i for i, piece in enumerate(pieces) if piece is None or piece.startswith(("[", "<"))]
        return torch.tensor(bad + list(range(len(pieces), size)))


def _exchanged(free: list[int], ranked: list[tuple[float, int, int]], chance: random.Random) -> list[int]:
    """Exchange some tokens at once, each at its place by one of the best for it."""
    found = list(free)
    for place in chance.sample(range(len(free)), min(len(free), 1 + chance.randrange(4))):
        best = [token for _, where, token in ranked if where == place][:2]
        found[place] = chance.choice(best) if best else found[place]
    return found
