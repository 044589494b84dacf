"""Measure how much a reviser writes: tokens of a compact edit against those of the answer it is made to.

    python scripts/bench/draft_edits.py [--pairs 60] [--engine 6] [--tokens 96] [--seed 1] [--data DIR] [--json FILE]

Near-duplicate questions: pairs that differ in one place of at most two words. Two parts:

- scripted upstream: a reviser that always makes the least edit that is right (the words that differ, with as many
  beside them as make the place unique), to answers of 50 to 400 tokens that name the question's words once. It says what
  the form of an edit costs at best; the edit is read and applied as a real one is.
- engine: the shipped model as reviser of its own answers, held to the form by the grammar. What it is worth as a reviser
  is another matter: `applied` says how many of its edits could be read and applied at all, nothing says they are right.

A token is one of the shipped model's tokenizer.
"""

from __future__ import annotations

import argparse
import queue
import random
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from statistics import median
from typing import Any

import orjson
from drafts import SLOTS, differs_in_a_slot, read
from engine_drafts import Engine, engine, page_texts
from rich.table import Table
from rig.report import circumstances, console, headline, save
from rig.serving import ROOT, models_folder
from tokenizers import Tokenizer

from semcache.decide.revision.edit import Keep, Replace, Unreadable, apply_edit, read_edit
from semcache.decide.revision.prompt import revision_messages, revision_schema
from semcache.engine.constrain import Forms
from semcache.engine.fields import ResponseFormat
from semcache.engine.generation import Delta, Done, Failed, GenerationRequest, Sampling

LENGTHS = (50, 100, 200, 400)
FENCE = "k7q2m9x4"
MODEL = "SmolLM2-135M-Instruct"


def least_edit(answer: str, a: str, b: str) -> str | None:
    """Give the reply of a reviser that makes an answer about `a` one about `b`; None where no place is unique."""
    old, new = a.split(), b.split()
    changes = [op for op in SequenceMatcher(None, old, new, False).get_opcodes() if op[0] != "equal"]
    (_, i, j, k, m) = changes[0]
    for wider in range(len(old)):
        left, right = min(i, (wider + 1) // 2), min(len(old) - j, wider // 2 + (wider == 0 and i == j))
        was, becomes = " ".join(old[i - left : j + right]), " ".join(new[k - left : m + right])
        if was and answer.count(was) == 1:
            return orjson.dumps({"edit": [{"old": was, "new": becomes}]}).decode()
    return None


def applied(answer: str, reply: str) -> tuple[str | None, str]:
    """Read an edit and apply it; gives the answer and a word for what it was."""
    edit = read_edit(reply)
    made = edit if isinstance(edit, Unreadable) else apply_edit(answer, edit)
    if isinstance(made, Unreadable):
        return None, "unread"
    return made, "kept" if isinstance(edit, Keep) else "edited" if isinstance(edit, Replace) else "rewritten"


def scripted(pairs: Sequence[tuple[str, str]], folder: Path) -> dict[int, list[float]]:
    """Give the ratios of tokens by length of the answer."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    pages = page_texts(folder, max(LENGTHS))
    found: dict[int, list[float]] = {}
    for length in LENGTHS:
        for number, (a, b) in enumerate(pairs):
            head = f"You asked: {a} Here is what to know. "
            body = tokenizer.decode(
                pages[number % len(pages)][: max(length - len(tokenizer.encode(head).ids), 1)]
            )
            answer = head + body
            reply = least_edit(answer, a, b)
            made = applied(answer, reply)[0] if reply is not None else None
            if reply is None or made != f"You asked: {b} Here is what to know. " + body:
                found.setdefault(length, []).append(1.0)  # written anew
                continue
            ratio = len(tokenizer.encode(reply).ids) / len(tokenizer.encode(answer).ids)
            found.setdefault(length, []).append(ratio)
    return found


def revised(real: Engine, forms: Forms, pair: tuple[str, str], tokens: int) -> dict[str, Any]:
    """Have the shipped model revise its own answer."""
    a, b = pair
    answer = real.answer(real.prompt(a), tokens)
    original = answer.done.completion_tokens
    messages = revision_messages([{"role": "user", "content": b}], b, a, answer.text, FENCE)
    ids: Any = real.model.tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, return_dict=False
    )
    form = forms.maker(ResponseFormat.model_validate(revision_schema()))
    request = GenerationRequest(tuple(ids), Sampling(temperature=0.0), original + 128, new_constraint=form)
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    real.runner.submit(request, events.put)
    text = ""
    while True:
        match events.get():
            case Delta(text=more):
                text += more
            case Done() as done:
                break
            case Failed(error=error):
                raise error
    return {"original": original, "output": done.completion_tokens, "result": applied(answer.text, text)[1]}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=60, help="for the scripted upstream")
    parser.add_argument("--engine", type=int, default=6, help="pairs for the local engine; 0: none")
    parser.add_argument("--tokens", type=int, default=96, help="longest answer of the local engine")
    parser.add_argument("--seed", type=int, default=1, help="draws the pairs")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    say, facts = console(), circumstances()
    say.print(headline(facts))
    near = [pair for pair in read(args.data, SLOTS, same=False) if differs_in_a_slot(*pair)]
    pairs = random.Random(args.seed).sample(near, max(args.pairs, args.engine))
    by_length = scripted(pairs[: args.pairs], models_folder() / MODEL)
    shown = Table("answer, tokens", "median of output / answer", "written anew", title="Scripted upstream")
    for length, ratios in by_length.items():
        shown.add_row(str(length), f"{median(ratios):.1%}", str(ratios.count(1.0)))
    say.print(shown)
    own: list[dict[str, Any]] = []
    if args.engine:
        with engine(models_folder() / MODEL, "fp32", 16) as real:
            forms = Forms(real.model.tokenizer, real.model.vocabulary_size, real.model.ends)
            own = [revised(real, forms, pair, args.tokens) for pair in pairs[: args.engine]]
        ratios = [one["output"] / one["original"] for one in own]
        results = ", ".join(sorted(one["result"] for one in own))
        say.print(
            f"local engine: median of output / answer {median(ratios):.1%} ({len(own)} pairs: {results})"
        )
    save(args.json, {"circumstances": facts, "scripted": by_length, "engine": own})


if __name__ == "__main__":
    main()
