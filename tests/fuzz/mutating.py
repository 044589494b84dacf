"""Bytes made of other bytes, the way fuzzers do it: flipped, cut, doubled, spliced, with what breaks parsers put in."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
BREAKERS = (
    *(
        b"",
        b"\x00",
        b"\xff",
        b"\xed\xa0\x80",
        b"\\ud800",
        b"\r\n\r\n",
        b"\n\n",
        b"data: ",
        b"[DONE]",
        b"event: error\n",
    ),
    *(b"null", b"true", b"NaN", b"1e999", b"-1", b"9" * 400, b"{}", b"[]", b'""', b"[" * 300, b'{"a":' * 300),
    *(
        b"\xe2\x80\x8b",
        b"\xe2\x80\xae",
        b"&a *a",
        b"!!python/object:os.system",
        b"<<: *x",
        b"- " * 200,
        b"\t",
    ),
    *(b'"stream":true', b'"role":"user"', b'"content":null', b'"index":99999999', b'"finish_reason":"stop"'),
)


def corpus(target: str) -> list[tuple[str, bytes]]:
    """Give the files kept for a target: seeds, and whatever went wrong once."""
    return [(file.name, file.read_bytes()) for file in sorted((CORPUS / target).iterdir())]


ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        1.0,
        1e300,
        2**70,
        "",
        "1",
        "x",
        "\ud800",
        "\0",
        "a" * 3000,
        [],
        {},
        [None],
        [[]],
    ),
    *(
        {"a": 1},
        {"text": "x"},
        {"type": "text", "text": "x"},
        {"role": "user", "content": "x"},
        ["x"],
        "\u202e",
    ),
)


def restructured(data: bytes, chance: random.Random) -> bytes:
    """Give JSON behind its first byte with one to three places of it changed, lost, doubled or named anew; else the data itself."""
    try:
        value = json.loads(data[1:])
    except (ValueError, RecursionError):
        return data
    if not isinstance(value, dict):
        return data
    for _ in range(chance.randint(1, 3)):
        holder: Any = value
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = chance.choice(keys)
            inner = holder[key]
            if isinstance(inner, dict | list) and inner and chance.random() < 0.7:
                holder = inner
                continue
            _change(holder, key, chance)
            break
    return data[:1] + json.dumps(value).encode()


def _change(holder: Any, key: Any, chance: random.Random) -> None:
    match chance.randrange(4):
        case 0 if isinstance(holder, dict):
            holder[str(chance.choice(ODD))[:20]] = holder.pop(key)
        case 1 if isinstance(holder, dict):
            del holder[key]
        case 1:
            holder.append(copy.deepcopy(holder[key]))
        case _:
            holder[key] = copy.deepcopy(chance.choice(ODD))


def mutated(seeds: Sequence[bytes], chance: random.Random) -> bytes:
    """Give a seed with one to six changes, of its bytes or of the JSON in it."""
    seed = chance.choice(seeds)
    if chance.random() < 0.5 and (other := restructured(seed, chance)) != seed:
        return other[:100_000]
    data = bytearray(seed)
    for _ in range(chance.randint(1, 6)):
        at = chance.randint(0, len(data))
        end = min(len(data), at + int(chance.expovariate(0.1)))
        match chance.randrange(7):
            case 0 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = data[at:end] * chance.randint(1, 8)
            case 3:
                other = chance.choice(seeds)
                data[at:] = other[chance.randint(0, len(other)) :]
            case 4:
                data[at:end] = chance.choice(BREAKERS)
            case 5:
                data[at:at] = chance.choice(BREAKERS)
            case _:
                other = chance.choice(seeds)
                start = chance.randint(0, len(other))
                data[at:at] = other[start : start + int(chance.expovariate(0.05))]
    return bytes(data[:100_000])
