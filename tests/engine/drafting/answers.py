"""Questions and stored answers for the tests of drafts: what is asked of the shipped model, and what it may get as a draft."""

from __future__ import annotations

import json
import queue
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from semcache.engine.generation import Delta, Done, Event, Failed, GenerationRequest, Sampling
from semcache.engine.model.loading import LoadedModel
from semcache.engine.scheduling.runner import PagedRunner

DATA = Path(__file__).parents[4] / "shared" / "data"
FILES = (
    "fow_pairs_en.jsonl",
    "written_pairs.jsonl",
    "adversarial.jsonl",
    "medquad_en.jsonl",
    "checklist_en.jsonl",
)
PATIENCE = 600.0
GREEDY = Sampling(temperature=0.0)
OTHER_LANGUAGES = (
    "当然可以。请先打开设置，然后选择账户，再点击更改密码。",
    "Selbstverständlich: Öffnen Sie die Einstellungen und wählen Sie dort Ihr Konto.",
    "بالتأكيد، افتح الإعدادات أولا ثم اختر الحساب.",
)


@dataclass(frozen=True, slots=True)
class Said:
    """An answer's tokens as bytes with the bits of their log probabilities, and what the runner counted."""

    tokens: tuple[tuple[bytes, float], ...]
    done: Done

    @property
    def text(self) -> bytes:
        """The tokens put together."""
        return b"".join(token for token, _ in self.tokens)


class Asking:
    """Asks a runner about one question each, up to some at a time."""

    def __init__(self, model: LoadedModel, runner: PagedRunner) -> None:
        self.model = model
        self._runner = runner

    def request(self, question: str, tokens: int) -> GenerationRequest:
        """A greedy request in the model's own chat format."""
        ids = self.model.tokenizer.apply_chat_template(
            [{"role": "user", "content": question}], add_generation_prompt=True, return_dict=False
        )
        return GenerationRequest(tuple(ids), GREEDY, tokens, logprobs=0)

    def ids(self, text: bytes) -> tuple[int, ...]:
        """Tokenise a stored answer as the server does with a prediction: its text, not the tokens it was made of."""
        return tuple(
            self.model.tokenizer(text.decode("utf-8", "ignore"), add_special_tokens=False)["input_ids"]
        )

    def all(self, requests: Sequence[GenerationRequest], at_once: int = 16) -> list[Said]:
        """Answer all, in order."""
        found: list[Said] = []
        for start in range(0, len(requests), at_once):
            waiting = [self._begin(request) for request in requests[start : start + at_once]]
            found += [collect() for collect in waiting]
        return found

    def _begin(self, request: GenerationRequest) -> Callable[[], Said]:
        events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._runner.submit(request, events.put)
        return lambda: _collected(events)


def _collected(events: queue.SimpleQueue[Event]) -> Said:
    tokens: list[tuple[bytes, float]] = []
    while True:
        match events.get(timeout=PATIENCE):
            case Delta(logprobs=logprobs):
                tokens += [(item.chosen.token, item.chosen.logprob) for item in logprobs]
            case Done() as done:
                return Said(tuple(tokens), done)
            case Failed(error=error):
                raise error


def differing(plain: Sequence[Said], drafted: Sequence[Said]) -> list[int]:
    """Number the answers of which a token, or a bit of its log probability, is another one."""
    return [
        at for at, (one, other) in enumerate(zip(plain, drafted, strict=True)) if one.tokens != other.tokens
    ]


def hostile(own: tuple[int, ...], ask: Asking, rng: random.Random) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Give drafts of every bad kind made from an answer's own tokens, by name."""
    size = len(ask.model.tokenizer)
    middle = len(own) // 2
    yield "random", tuple(rng.randrange(size) for _ in range(40))
    yield "truncated", own[:middle]
    yield "beheaded", own[middle:]
    yield "repeated", own[: max(middle, 1)] * 4
    yield "one token", (own[0],) * 200 if own else (1,)
    yield "stuttering", tuple(token for token in own for _ in range(2))
    yield "backwards", own[::-1]
    yield "shuffled", tuple(rng.sample(own, len(own)))
    yield "nearly", tuple(rng.randrange(size) if rng.random() < 0.15 else token for token in own)
    yield "ended early", (*own[:middle], *ask.model.ends, *own[middle:])
    yield "ends only", tuple(ask.model.ends) * 8
    yield "longer", own + tuple(rng.randrange(size) for _ in range(30))
    yield "special", tuple(rng.choice(ask.model.tokenizer.all_special_ids) for _ in range(20))
    yield "other language", ask.ids(rng.choice(OTHER_LANGUAGES).encode())
    yield "empty", ()


def with_draft(request: GenerationRequest, draft: tuple[int, ...]) -> GenerationRequest:
    """The same request with a guess of its answer."""
    return replace(request, draft=draft)


def pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Draw pairs of a stored and an asked question, as many of each file as of the others; none without the files."""
    rng = random.Random(seed)
    found: list[tuple[str, str]] = []
    files = [DATA / name for name in FILES if (DATA / name).exists()]
    for number, file in enumerate(files):
        lines = file.read_text(encoding="utf-8").splitlines()
        share = (count - len(found)) // (len(files) - number)
        drawn = (json.loads(line) for line in rng.sample(lines, min(share, len(lines))))
        found += [(pair["a"], pair["b"]) for pair in drawn]
    return found
