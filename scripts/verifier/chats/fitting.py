"""Rows of numbers from chats and clauses with labels, by the product's own reading."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from scripts.verifier.chats.scenes import Pair, Scene, Turns, lines, scenes, with_talk, with_words
from scripts.verifier.rows import ENCODERS, Bench
from semcache.decide.context.agreement import Nearness, closeness
from semcache.decide.context.clauses import sentences
from semcache.decide.context.comparing import row
from semcache.decide.context.dropping import dropping
from semcache.decide.context.kin import Judge
from semcache.decide.context.resolve import Reading, read, resolved
from semcache.decide.context.saying import Telling, is_figure, telling
from semcache.decide.context.sides import sides
from semcache.decide.text import is_han

Row = NDArray[np.float32]
FILES = ("support", "world", "zh")
_NODS = {
    False: ("Okay.", "Noted.", "I see.", "Got it.", "Thanks for telling me."),
    True: ("好的。", "明白。"),
}
_KIND = {
    False: ("Ha, no worries!", "I can imagine!", "That sounds fun!", "Hope it gets better!", "Take your time.", "How lovely!"),
    True: ("没关系的。", "辛苦了。"),
}  # fmt: skip


@dataclass(frozen=True)
class Labelled:
    """Rows with labels, and for each the scene it comes from."""

    rows: NDArray[np.float32]
    yes: NDArray[np.bool_]
    group: NDArray[np.int64]


class Vectors:
    """Vectors by text, from the packaged encoders."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._known: dict[str, tuple[int, Row]] = {}

    def of(self, text: str) -> tuple[str, Row]:
        """Give the name of the encoder ("" where none takes the text) and the vector."""
        if text not in self._known:
            self._known[text] = self._bench.encode(text)
        at, vector = self._known[text]
        return list(ENCODERS.values())[at] if at >= 0 else "", vector

    def cosine(self, one: str, other: str) -> float:
        """Give the similarity on the reference scale; -1 across encoders."""
        if one == other:
            return 1.0
        (name, left), (other_name, right) = self.of(one), self.of(other)
        if name != other_name or not name:
            return -1.0
        return self._bench.on_scale(name, float(left @ right))


def han(text: str) -> bool:
    """True for a text with Chinese in it."""
    return any(is_han(character) for character in text)


@dataclass(frozen=True)
class SmallTalk:
    """Log-odds by text, each from a line that has not seen it; and the lines by encoder."""

    unseen: dict[str, float]
    by_encoder: dict[str, Row]
    vectors: Vectors

    def odds(self, text: str) -> float:
        """Give the log-odds that a text is small talk."""
        if text in self.unseen:
            return self.unseen[text]
        name, vector = self.vectors.of(text)
        line = self.by_encoder.get(name)
        return -5.0 if line is None else float(line[:-1] @ vector + line[-1])


def small_talk(vectors: Vectors) -> SmallTalk:
    """Fit the lines that tell small talk from what bears on a case."""
    talk = [
        line.split(" | ")[0] for name in ("chatter", "chatter_zh", "inline", "small") for line in lines(name)
    ]
    facts = lines("facts") + [fact for scene in _all() for fact in scene.added]
    core = {
        part
        for scene in _all()
        for number in (0, *scene.choices())
        for telling_ in ((0,), (1,))
        for role, text in scene.told(telling_, number)
        if role == "user"
        for part in sentences(text)
    }
    bearing_ = [*facts, *sorted(core)]
    unseen: dict[str, float] = {}
    by_encoder: dict[str, Row] = {}
    for name in ENCODERS.values():
        texts = [(text, True) for text in talk if vectors.of(text)[0] == name]
        texts += [(text, False) for text in bearing_ if vectors.of(text)[0] == name]
        x = np.stack([vectors.of(text)[1] for text, _ in texts])
        y = np.array([label for _, label in texts])
        model = LogisticRegression(C=5.0, max_iter=3000)
        folds = StratifiedKFold(12, shuffle=True, random_state=3)
        odds = cross_val_predict(model, x, y, cv=folds, method="decision_function")
        unseen |= {text: float(value) for (text, _), value in zip(texts, odds, strict=True)}
        model.fit(x, y)
        by_encoder[name] = np.concatenate([model.coef_[0], model.intercept_]).astype(np.float32)
    return SmallTalk(unseen, by_encoder, vectors)


def _all() -> list[Scene]:
    return [scene for name in FILES for scene in scenes(name)]


def reading_of(chat: Turns) -> Reading:
    """Read a chat; what is not sure to stand alone counts as bound."""
    found = read([{"role": role, "content": text} for role, text in chat], "")
    return found.otherwise or found


def told(chat: Turns) -> Telling | None:
    """Give the telling of a bound chat."""
    found = reading_of(chat)
    return telling(found.context) if found.kind == "bound" else None


def drops(talk: SmallTalk) -> Labelled:
    """Give rows of clauses put into scenes: small talk (yes) and facts of the case (no)."""
    rng = random.Random(4)
    found: list[tuple[Row, bool, int]] = []
    for number, scene in enumerate(_all()):
        first = scene.told((0,))
        for text, answer, is_talk in _put(scene, rng):
            place = rng.randrange(0, len(first), 2)
            if answer:
                chat, at = with_talk(first, (text, answer), place), place
            else:
                at = min(place, len(first) - 3)
                chat = with_words(first, text, at, rng.random() < 0.5)
            teller = told(chat)
            if teller is None:
                continue
            others = frozenset(
                unit
                for said in teller.user
                if said.text != text and (said.place != at or not answer)
                for unit in said.units
                if not is_figure(unit)
            )
            found.append((dropping(text, talk.odds(text), others, at in teller.social), is_talk, number))
        teller = told(first)
        for said in teller.user[: -teller.last] if teller else ():
            if not said.echo:
                others = frozenset(
                    unit
                    for other in teller.user
                    if other is not said
                    for unit in other.units
                    if not is_figure(unit)
                )
                odds = talk.odds(said.text)
                found.append((dropping(said.text, odds, others, said.place in teller.social), False, number))
    return _labelled(found)


def _put(scene: Scene, rng: random.Random) -> Iterable[tuple[str, str, bool]]:
    """Yield what is put into a scene: text, the assistant's answer ("" for a clause within a turn), and whether it is talk."""
    zh = scene.han
    for line in rng.sample(lines("chatter_zh" if zh else "chatter"), 5):
        text, answer = (part.strip() for part in line.split("|"))
        yield text, answer, True
    for text in rng.sample([line for line in lines("small") if han(line) == zh], 8):
        yield text, rng.choice((rng.choice(_KIND[zh]), rng.choice(_NODS[zh]), "")), True
    for text in () if zh else rng.sample(lines("inline"), 2):
        yield text, "", True
    for text in [*rng.sample([line for line in lines("facts") if han(line) == zh], 10), *scene.added]:
        yield text, rng.choice((rng.choice(_NODS[zh]), "")), False


def cases(
    pairs: Sequence[Pair], kin: Judge, talk: SmallTalk, vectors: Vectors
) -> tuple[Labelled, list[Pair]]:
    """Give rows of pairs of bound chats, and the pairs that have one."""
    found: list[tuple[Row, bool, int]] = []
    kept: list[Pair] = []
    names = {name: i for i, name in enumerate(dict.fromkeys(pair.scene for pair in pairs))}
    for pair in pairs:
        one, other = told(pair.one), told(pair.other)
        if one is None or other is None:
            continue
        near = Nearness(
            vectors.cosine(resolved(one.record), resolved(other.record)),
            vectors.cosine(pair.one[-1][1], pair.other[-1][1]),
        )
        both = sides(one, other, kin, talk.odds)
        found.append(
            (row(one, other, both, closeness(one, other, near, kin), kin), pair.same, names[pair.scene])
        )
        kept.append(pair)
    return _labelled(found), kept


def line_of(data: Labelled, strength: float) -> Row:
    """Fit one line of odds, the constant last."""
    mean, spread = data.rows.mean(axis=0), data.rows.std(axis=0) + 1e-6
    model = LogisticRegression(C=strength, max_iter=3000).fit((data.rows - mean) / spread, data.yes)
    weights = model.coef_[0] / spread
    return np.append(weights, model.intercept_[0] - float(weights @ mean)).astype(np.float32)


def unseen(
    data: Labelled, predict: Callable[[Labelled, NDArray[np.float32]], NDArray[np.float64]], folds: int = 8
) -> NDArray[np.float64]:
    """Give predictions of a model that has seen nothing of the scene."""
    fold = data.group % folds
    found = np.zeros(len(data.yes))
    for number in range(folds):
        rest = fold != number
        found[~rest] = predict(Labelled(data.rows[rest], data.yes[rest], data.group[rest]), data.rows[~rest])
    return found


def _labelled(found: Sequence[tuple[Row, bool, int]]) -> Labelled:
    return Labelled(
        np.stack([numbers for numbers, _, _ in found]),
        np.array([label for _, label, _ in found]),
        np.array([group for _, _, group in found]),
    )
