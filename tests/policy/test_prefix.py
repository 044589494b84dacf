"""The `prefix:` section: who may reuse a prompt, what is public to all, and that files are followed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcache.core import Caller, Directives, Scope, TenantId
from semcache.errors import PolicyError
from semcache.policy.explain import explain_prefix
from semcache.policy.lint import lint
from semcache.policy.loader import check, load_directory
from semcache.policy.prefix import PublicMessages, content_digest
from semcache.policy.snapshot import PolicySnapshot
from semcache.policy.watch import LivePolicies, signature
from tests.policy.samples import MINIMAL, TWO_DOMAINS, chat, problems, snapshot, source, write

ME = Caller(TenantId("acme"), key_name="web")
HOUSE = "You work for the house. Be brief."
BOOK = "Chapter one. It was a dark night."
OPERATOR = MINIMAL.replace("acme", "default")


def with_prefix(text: str, knobs: str) -> str:
    return f"{text}prefix: {knobs}\n"


@pytest.mark.parametrize(
    ("knobs", "domain", "asked", "share"),
    [
        ("{}", "", Directives(), Scope.TENANT),
        ("{share: tenant}", "medical", Directives(), Scope.TENANT),
        ("{share: tenant}", "private", Directives(user="u"), Scope.USER),
        ("{share: tenant}", "", Directives(user="u"), Scope.USER),
        ("{share: tenant}", "", Directives(no_store=True), None),
        ("{share: user}", "", Directives(), Scope.USER),
        ("{share: user}", "private", Directives(user="u", no_store=True), None),
        ("{share: none}", "", Directives(), None),
        ("{share: none}", "private", Directives(user="u"), None),
        # What only closes the cache for answers leaves the computing alone.
        ("{share: tenant}", "", Directives(mode="off", ttl=0), Scope.TENANT),
    ],
)
def test_who_may_reuse_a_prompt(knobs: str, domain: str, asked: Directives, share: Scope | None) -> None:
    policies = snapshot(with_prefix(TWO_DOMAINS, knobs))
    wishes = Directives(**{**{f: getattr(asked, f) for f in asked.__slots__}, "domain": domain})
    policy = policies.resolve(chat(), ME, wishes)
    assert policies.prefix(ME.tenant).share_for(policy, wishes) is share


RANK = {None: 0, Scope.USER: 1, Scope.TENANT: 2}


@given(
    st.sampled_from(["tenant", "user", "none"]),
    st.sampled_from(["", "medical", "private"]),
    st.sampled_from(["", "u"]),
    st.booleans(),
)
def test_a_request_never_loosens(knob: str, domain: str, user: str, no_store: bool) -> None:
    policies = snapshot(with_prefix(TWO_DOMAINS, f"{{share: {knob}}}"))
    rules = policies.prefix(ME.tenant)
    wishes = Directives(domain=domain, user=user, no_store=no_store)
    policy = policies.resolve(chat(), ME, wishes)
    share = rules.share_for(policy, wishes)
    assert RANK[share] <= RANK[rules.share]
    if policy.scope is Scope.USER:
        assert share is not Scope.TENANT


def test_limits() -> None:
    rules = snapshot(with_prefix(MINIMAL, "{reserve_tokens: 100, max_tokens: 5000}")).prefix(ME.tenant)
    assert (rules.reserve_tokens, rules.max_tokens) == (100, 5000)
    assert snapshot(MINIMAL).prefix(ME.tenant).max_tokens is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (with_prefix(MINIMAL, "{share: all}"), "prefix.share: should be tenant, user or none"),
        (with_prefix(MINIMAL, "{reserve_tokens: 9, max_tokens: 8}"), "should be at most max_tokens (8)"),
        (with_prefix(MINIMAL, "{max_tokens: 0}"), "prefix.max_tokens: should be greater than or equal to 1"),
        (with_prefix(MINIMAL, "{public: [{text: hello}]}"), "only the operator's own file (tenant default)"),
        (with_prefix(OPERATOR, "{public: [{}]}"), "should state one of text, file and sha256"),
        (with_prefix(OPERATOR, "{public: [{text: a, file: b.md}]}"), "should state one of"),
        (with_prefix(OPERATOR, "{public: [hello]}"), "64 hex digits"),
        (with_prefix(OPERATOR, "{public: [{file: /etc/passwd}]}"), "should name a .txt or .md file"),
        (with_prefix(OPERATOR, "{public: [{file: ../x.md}]}"), "should name a .txt or .md file"),
        (with_prefix(OPERATOR, "{public: [{file: a/b/c.md}]}"), "should name a .txt or .md file"),
        (with_prefix(OPERATOR, "{public: [{file: .x.md}]}"), "should name a .txt or .md file"),
        (with_prefix(OPERATOR, "{public: [{file: x.md}]}"), "there is no such .txt or .md file"),
    ],
)
def test_what_is_refused(text: str, says: str) -> None:
    said = problems(text)
    assert any(says in line for line in said), said
    assert not any("hello" in line for line in said)


def public(*entries: str) -> PublicMessages:
    return snapshot(with_prefix(OPERATOR, f"{{public: [{', '.join(entries)}]}}")).public


def digest(text: str) -> str:
    return f'"sha256:{hashlib.sha256(text.encode()).hexdigest()}"'


def message(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


SYSTEM, DEVELOPER, USER = (message(role, HOUSE) for role in ("system", "developer", "user"))
DOCUMENT, QUESTION = message("user", BOOK), message("user", "Who is it?")
PARTS = message("system", [{"type": "text", "text": HOUSE}])


@pytest.mark.parametrize(
    ("messages", "more", "count"),
    [
        ([SYSTEM, QUESTION], {}, 1),
        ([DEVELOPER, QUESTION], {}, 1),
        ([PARTS, QUESTION], {}, 1),
        ([SYSTEM, DOCUMENT, QUESTION], {}, 2),
        ([DOCUMENT, QUESTION], {}, 1),
        ([SYSTEM, DOCUMENT], {}, 2),
        ([USER, QUESTION], {}, 0),  # the house's words, but not said by the system
        ([QUESTION, SYSTEM], {}, 0),  # behind something private
        ([SYSTEM, QUESTION, DOCUMENT], {}, 1),
        ([message("system", HOUSE + " "), QUESTION], {}, 0),
        ([message("system", HOUSE, name="patient-7"), QUESTION], {}, 0),  # a name is rendered, too
        ([message("system", [{"type": "text", "text": HOUSE}, {"type": "image_url"}]), QUESTION], {}, 0),
        ([message("system", []), QUESTION], {}, 0),
        ([message("system", None), QUESTION], {}, 0),
        ([message("system", 7), QUESTION], {}, 0),
        ([{"role": "system"}, QUESTION], {}, 0),
        (
            [SYSTEM, QUESTION],
            {"tools": [{"type": "function"}]},
            0,
        ),  # rendered before or into the system message
        ([SYSTEM, QUESTION], {"chat_template_kwargs": {"date": "today"}}, 0),
        ([SYSTEM, QUESTION], {"tools": []}, 1),
        ([SYSTEM, QUESTION], {"temperature": 0, "user": "u"}, 1),
    ],
)
def test_how_many_messages_are_public(messages: list[Any], more: dict[str, Any], count: int) -> None:
    registered = public(f"{{text: '{HOUSE}'}}", f"{{sha256: {digest(BOOK)}, role: any}}")
    assert registered.leading({"messages": messages, **more}) == count


def test_a_text_alone_is_a_digest_and_for_the_system() -> None:
    registered = public(digest(HOUSE))
    assert registered.leading({"messages": [SYSTEM]}) == 1
    assert registered.leading({"messages": [USER]}) == 0


def test_without_public_messages_nothing_is_looked_at() -> None:
    assert PublicMessages().leading({}) == 0


def test_lone_surrogates_are_no_fault() -> None:
    assert public(digest(HOUSE)).leading({"messages": [message("system", "\ud800")]}) == 0
    assert content_digest("\ud800") != content_digest("?")


def test_one_operator_speaks_for_all_tenants(tmp_path: Path) -> None:
    write(tmp_path, a=MINIMAL, operator=with_prefix(OPERATOR, f"{{public: [{{text: '{HOUSE}'}}]}}"))
    assert len(load_directory(tmp_path).public) == 1


def test_an_operator_whom_nobody_may_call_is_no_slip() -> None:
    told = [str(warning) for warning in lint(source(OPERATOR))]
    assert any("nobody can speak" in line for line in told)
    assert not lint(source(with_prefix(OPERATOR, "{public: [{text: a}]}")))


def operator_file(entry: str = "{file: prompts/house.md}") -> str:
    return with_prefix(OPERATOR, f"{{public: [{entry}]}}")


def test_files_count_with_and_without_their_last_line_break(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "house.md").write_text(HOUSE + "\r\n")
    registered = load_directory(write(tmp_path, operator=operator_file())).public
    assert len(registered) == 2
    # Text files are read with plain line breaks kept as they are.
    for text, count in ((HOUSE, 1), (HOUSE + "\r\n", 1), (HOUSE + "\n", 0), ("", 0)):
        assert registered.leading({"messages": [message("system", text)]}) == count


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"\xff\xfe", "is not UTF-8"), (b" \n", "is empty"), (b"x" * ((1 << 20) + 1), "is larger than 1 MiB")],
)
def test_files_that_are_no_messages(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "house.txt").write_bytes(content)
    report = check(write(tmp_path, operator=operator_file("{file: house.txt}")))
    assert report.snapshot is None
    assert [str(p) for p in report.problems] == [f"{tmp_path}/operator.yaml:6: prefix.public[0].file: {says}"]


def test_a_folder_or_pipe_in_a_files_place(tmp_path: Path) -> None:
    import os

    (tmp_path / "house.md").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    for name in ("house.md", "pipe.md"):
        with pytest.raises(PolicyError, match=r"cannot be read: (is a directory|not a regular file)"):
            load_directory(write(tmp_path, operator=operator_file(f"{{file: {name}}}")))


def test_a_file_of_a_message_is_part_of_the_generation_and_watched(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "house.md").write_text(HOUSE)
    write(tmp_path, operator=operator_file())
    before, seen = load_directory(tmp_path), signature(tmp_path)
    (prompts / "house.md").write_text(HOUSE + " Be kind.")
    assert load_directory(tmp_path).generation != before.generation
    assert signature(tmp_path) != seen


async def until(held: Callable[[], bool]) -> None:
    while not held():  # noqa: ASYNC110 - what is waited for happens in a thread that knows no event
        await anyio.sleep(0.05)


async def test_a_changed_file_is_in_force_at_once_and_a_broken_one_is_not(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "house.md").write_text(HOUSE)
    write(tmp_path, operator=operator_file())
    live = await LivePolicies.open(tmp_path)
    body = {"messages": [message("system", "New words.")]}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(live.run)
        with anyio.fail_after(20):
            (prompts / "house.md").write_text("New words.")
            await until(lambda: live.current.public.leading(body) == 1)
            (prompts / "house.md").unlink()
            await until(lambda: bool(live.last_error))
            assert live.current.public.leading(body) == 1
            (prompts / "house.md").write_text("Other words.")
            await until(lambda: not live.last_error)
        assert live.current.public.leading(body) == 0
        tasks.cancel_scope.cancel()


def explained(policies: PolicySnapshot, wishes: Directives, **body: Any) -> tuple[str, str, int]:
    request = chat()
    object.__setattr__(request, "body", body)
    step = explain_prefix(policies, request, wishes, policies.resolve(request, ME, wishes))
    return step.what, step.where, len(step.changes)


def test_an_account_in_words() -> None:
    policies = snapshot(with_prefix(TWO_DOMAINS, "\n  share: tenant"), operator_file(f"{{text: '{HOUSE}'}}"))
    told = explained(policies, Directives(), messages=[SYSTEM, QUESTION])
    assert told[0].startswith("in the local engine all callers of the tenant may reuse")
    assert told[0].endswith("; public messages at its head: 1")
    assert told[1:] == ("policy0.yaml:33", 0)
    assert explained(policies, Directives(user="u"), messages=[QUESTION]) == (
        "in the local engine system messages are the tenant's, the rest one end user's",
        "policy0.yaml:33",
        1,
    )
    assert "nobody" in explained(policies, Directives(no_store=True), messages=[QUESTION])[0]
