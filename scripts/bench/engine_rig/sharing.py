"""One copy for everybody, nothing for strangers, nothing lost: counts of our engine, not times."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine_rig.client import Reply, Usage, post, together, usage
from engine_rig.first_token import ANSWER, FOUR
from engine_rig.prompts import Messages, Prompts
from engine_rig.rows import CHAT, Goal, Row, body
from engine_rig.servers import Server, counts

_AT_ONCE = 8
_QUESTION = 14


def slots(server: Server, prompts: Prompts, prefix: int = 1001) -> list[Row]:
    """KV slots that one request and then four at once leave: the prefix once, and each one's own tail.

    The last token of an answer is never computed, so a tail is question, closing and 7 tokens.
    """
    system = prompts.system(prefix)
    before = counts(server)["tree"]
    request = body(server, prompts.ask(system, prompts.question(_QUESTION)), ANSWER)
    first = usage(post(server.port, CHAT, request))
    bodies = [body(server, prompts.ask(system, prompts.question(_QUESTION)), ANSWER) for _ in range(FOUR)]
    rest = [usage(reply) for reply in together([_call(server, each) for each in bodies])]
    found = counts(server)["tree"] - before
    tails = sum(each.prompt + each.completion - 1 - prefix for each in [first, *rest])
    meant = prefix - first.cached + tails
    row = Row("KV slots of 1 + 4 requests", server.name, "slots", [found])
    row.note(f"prefix {prefix} (of it {first.cached} there before) + tails {tails} = {meant}")
    return [row, Row("KV slots beyond prefix and tails", server.name, "slots", [found - meant], goal=_NONE)]


def tenants(server: Server, prompts: Prompts, number: int, prefix: int = 256) -> list[Row]:
    """Tenants with one public system prompt and a question each, several at once.

    Then each asks its own question again (it must find all of it: else the next could not fail), and
    then as many strangers ask the same questions, word for word: nothing behind the public prompt may be
    found. (A tenant who has asked before would find the template's words before its own question.)
    """
    system = prompts.system(prefix)
    public = len(prompts.tokens(prompts.ask(system, "")[:1], opened=False))
    questions = [prompts.ask(system, prompts.question(_QUESTION)) for _ in range(number)]
    computed = _in_groups(server, "tenant", questions)
    own = _in_groups(server, "tenant", questions)
    foreign = _in_groups(server, "stranger", questions)
    spent = sum(each.prompt - each.cached for each in computed)
    private = sum(each.prompt - public for each in computed)
    reach = [max(0, each.cached - public) for each in foreign]
    rows = [
        Row("public prompt: prefills", server.name, "times", [(spent - private) / public], goal=_ONCE),
        Row("own private tokens found again", server.name, "share", [_share(own, public)], goal=_ALL),
        Row("private tokens found by strangers", server.name, "tokens", [float(sum(reach))], goal=_NONE),
        Row("public tokens found by strangers", server.name, "share", [_public(foreign, public)], goal=_ALL),
    ]
    rows[0].note(f"{number} tenants, {public} public tokens, {_AT_ONCE} at once")
    return rows


_NONE = Goal(0, less=True)
_ONCE = Goal(1, less=True)
_ALL = Goal(0.99)


def _share(found: Sequence[Usage], public: int) -> float:
    """Share of private tokens found, the last of each apart, which is always computed."""
    return sum(max(0, each.cached - public) for each in found) / sum(
        each.prompt - 1 - public for each in found
    )


def _public(found: Sequence[Usage], public: int) -> float:
    return sum(min(each.cached, public) for each in found) / (public * len(found))


def _in_groups(server: Server, word: str, questions: Sequence[Messages]) -> list[Usage]:
    """Ask each question as a tenant of its own, some at once."""
    calls = []
    for number, messages in enumerate(questions):
        owner = {"tenant": f"{word}-{number}", "public_messages": 1}
        calls.append(_call(server, body(server, messages, 1, prefix_cache=owner)))
    groups = [calls[start : start + _AT_ONCE] for start in range(0, len(calls), _AT_ONCE)]
    return [usage(reply) for group in groups for reply in together(group)]


def _call(server: Server, request: dict[str, object]) -> Callable[[], Reply]:
    return lambda: post(server.port, CHAT, request)


def accounts(server: Server) -> Row:
    """Slots that are neither free nor in the tree nor of a running request; after all that went before."""
    found = counts(server)
    missing = found["capacity"] - found["free"] - found["tree"] - found["running"]
    row = Row("capacity - free - tree - running", server.name, "slots", [missing], goal=_NONE)
    row.note(", ".join(f"{name} {value:,.0f}" for name, value in found.items()))
    if missing < 0 or found["running"]:
        row.note("NEGATIVE" if missing < 0 else "STILL RUNNING")
    return row
