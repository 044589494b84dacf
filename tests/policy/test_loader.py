"""Files and directories: all or nothing, every problem named with file and line, no value quoted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcache.errors import PolicyError
from semcache.policy.loader import MAX_BYTES, check, load_default, load_directory, read_file
from tests.policy.samples import MINIMAL, TWO_DOMAINS, problems, source, write

HASH = "sha256:" + "ab" * 32


def minimal(extra: str) -> str:
    return MINIMAL + extra


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (minimal("ttl: 5\n"), "policy.yaml:6: ttl: unknown key"),
        (minimal("    modes: off\n"), "policy.yaml:6: is not YAML"),
        (MINIMAL.replace("threshold", "treshold"), "policy.yaml:5: domains.chat.treshold: unknown key"),
        (MINIMAL.replace("0.92", "92"), "policy.yaml:5: domains.chat.threshold: should be less than or equal to 1"),
        (MINIMAL.replace("0.92", "-0.1"), "domains.chat.threshold: should be greater than or equal to 0"),
        (MINIMAL.replace("0.92", ".nan"), "domains.chat.threshold: should be a valid number"),
        (MINIMAL.replace("0.92", "1e999"), "domains.chat.threshold: should be a finite number"),
        (MINIMAL.replace("0.92", "'0.92'"), "domains.chat.threshold: should be a valid number"),
        (MINIMAL.replace("0.92", "true"), "domains.chat.threshold: should be a valid number"),
        (MINIMAL.replace("0.92", "null"), "domains.chat.threshold: should be a number from 0 to 1"),
        (MINIMAL.replace("semantic", "fuzzy"), "domains.chat.mode: should be off, shadow, exact or semantic"),
        (MINIMAL.replace("schema_version: 1", "schema_version: 2"), "policy.yaml:1: schema_version: should be 1"),
        (MINIMAL.replace("schema_version: 1\n", ""), "policy.yaml:1: schema_version: is missing"),
        (MINIMAL.replace("tenant: acme", "tenant: 7"), "policy.yaml:2: tenant: should be text"),
        (MINIMAL.replace("acme", "Acme"), "policy.yaml:2: tenant: should match"),
        (MINIMAL.replace("acme", '"a}b"'), "tenant: should match"),
        (MINIMAL.replace("acme", '"acme\\n"'), "tenant: should match"),
        (MINIMAL.replace("default_domain: chat", "default_domain: talk"), "policy.yaml:3: default_domain: should be one of the domains: chat"),
        (MINIMAL.replace("chat:", "Chat:"), "policy.yaml:5: domains.Chat: this name should match"),
        (MINIMAL.replace("chat", "other"), "'other' is the classifier's word"),
        (MINIMAL.replace(", threshold: 0.92", ""), "policy.yaml:5: domains.chat: mode semantic needs a threshold"),
        ("- a\n", "policy.yaml:1: should be a mapping"),
        ("just text\n", "policy.yaml:1: should be a mapping"),
        (minimal("domains2: {}\n"), "unknown key"),
        (MINIMAL.replace("0.92}", "0.92, scope: public}"), "domains.chat.scope: should be user or tenant: an answer becomes public only"),
        (MINIMAL.replace("0.92}", "0.92, ttl: 1 day}"), "domains.chat.ttl: should be seconds or a duration"),
        (MINIMAL.replace("0.92}", "0.92, ttl: 0}"), "domains.chat.ttl: should be more than 0"),
        (MINIMAL.replace("0.92}", "0.92, draft_threshold: 0.95}"), "domains.chat.draft_threshold: should be at most threshold (0.92)"),
        (MINIMAL.replace("0.92}", "0.92, verified_threshold: 0.93}"), "domains.chat.verified_threshold: should be at most threshold"),
        (MINIMAL.replace("0.92}", "0.92, encoder_thresholds: {e: {threshold: 0.5, draft: 0.4}}}"), "domains.chat.encoder_thresholds.e.draft: means nothing without a draft_threshold"),
        (MINIMAL.replace("0.92}", "0.92, draft_threshold: 0.8, encoder_thresholds: {e: {threshold: 0.5}}}"), "domains.chat.encoder_thresholds.e: should state draft: the domain has a draft_threshold"),
        (MINIMAL.replace("0.92}", "0.92, draft_threshold: 0.8, encoder_thresholds: {e: {threshold: 0.5, draft: 0.6}}}"), "domains.chat.encoder_thresholds.e: should rise as"),
        (MINIMAL.replace("0.92}", "0.92, draft_threshold: 0.8, encoder_thresholds: {e: {threshold: 0.5, draft: 0.5}}}"), "domains.chat.encoder_thresholds.e: should rise as"),
        (MINIMAL.replace("0.92}", "0.92, draft_threshold: 0.92, encoder_thresholds: {e: {threshold: 0.5, draft: 0.4}}}"), "domains.chat.encoder_thresholds.e: should rise as"),
        (MINIMAL.replace("0.92}", "0.92, encoder_thresholds: {e: {threshold: 1.5}}}"), "domains.chat.encoder_thresholds.e.threshold: should be less than or equal to 1"),
        (MINIMAL.replace("0.92}", "0.92, store: {enabled: 1}}"), "domains.chat.store.enabled: should be true or false"),
        (MINIMAL.replace("0.92}", "0.92, neighbours: 8.5}"), "domains.chat.neighbours: should be a valid integer"),
        (MINIMAL.replace("0.92}", "0.92, gate: {numbers: never}}"), "domains.chat.gate.numbers: "),
        (MINIMAL.replace("0.92}", "0.92, gate: [numbers]}"), "domains.chat.gate: should be a mapping"),
        (minimal("upstream: https://evil.example/v1\n"), "policy.yaml:6: upstream: should match"),
        (minimal("models: []\n"), "models: should have at least 1 item"),
        (minimal(f"access: {{keys: [{{name: a, hash: {HASH}, key: x}}]}}\n"), "access.keys[0].key: unknown key"),
        (minimal("access: {keys: [{name: a, hash: sk-secret}]}\n"), 'access.keys[0].hash: should be "sha256:" and 64 hex digits'),
        (minimal("access: {keys: [{name: a, hash: 'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'}]}\n"), "hash of an empty key"),
        (minimal(f"access: {{keys: [{{name: a, hash: {HASH}}}, {{name: a, hash: 'sha256:{'cd' * 32}'}}]}}\n"), "access.keys[1].name: this name stands here twice"),
        (minimal("assign: {rules: [{domain: chat}]}\n"), "assign.rules[0]: should state routes, models or system_prompt"),
        (minimal("assign: {rules: [{domain: chat, system_prompt: {}}]}\n"), "assign.rules[0].system_prompt: should state contains or regex"),
        (minimal("assign: {rules: [{domain: legal, models: x}]}\n"), "assign.rules[0].domain: should be one of the domains: chat"),
        (minimal("assign: {rules: [{domain: chat, routes: v1}]}\n"), 'assign.rules[0].routes[0]: should begin with "/"'),
        (minimal("assign: {rules: [{domain: chat, system_prompt: {regex: (a+)+}}]}\n"), "assign.rules[0].system_prompt.regex: repeats a group"),
        (minimal("classifier: {exemplars: {legal: [x]}}\n"), "classifier.exemplars.legal: should be one of: chat, other"),
        (minimal("classifier: {enabled: true}\n"), "policy.yaml:6: classifier.enabled: no domain of this file has exemplars"),
        (minimal("tests:\n  - {a: x, b: y, domain: legal, expect: match}\n"), "policy.yaml:7: tests[0].domain: should be one of"),
        (minimal("tests:\n  - {a: x, b: y, expect: maybe}\n"), "tests[0].expect: should be match or differ"),
        (minimal("tests:\n  - {a: x, expect: match}\n"), "policy.yaml:7: tests[0].b: is missing"),
        (minimal("quotas: {max_entries: 0}\n"), "quotas.max_entries: should be greater than or equal to 1"),
        (minimal("? - a\n: b\n"), "a key should be a text"),
    ],
)  # fmt: skip
def test_every_mistake_is_named_with_its_line(text: str, says: str) -> None:
    said = problems(text)
    assert any(says in line for line in said), said


def test_all_mistakes_of_a_file_are_listed_in_order() -> None:
    said = problems(MINIMAL.replace("0.92", "92").replace("tenant: acme", "tenant: A") + "extra: 1\n")
    assert [line.split(": ")[0] for line in said] == ["policy.yaml:2", "policy.yaml:5", "policy.yaml:6"]


def test_messages_never_quote_a_value() -> None:
    secret = "sk-live-0123456789"
    texts = [
        f"access: {{keys: [{{name: a, hash: {secret}}}]}}\n",
        f"access: {{keys: [{secret}]}}\n",
        f"access: {secret}\n",
        f"access: {{anonymous: {secret}}}\n",
        f"upstream: 'https://{secret}@host/v1'\n",
        f"tests: [{{a: {secret}, b: x, expect: {secret}}}]\n",
        f"quotas: {{max_bytes: {secret}}}\n",
    ]
    for text in texts:
        assert secret not in "\n".join(problems(MINIMAL + text))


def test_names_in_messages_are_short_and_printable() -> None:
    said = problems(MINIMAL + '"\\e[31m' + "x" * 300 + '": 1\n')
    assert "\x1b" not in said[0]
    assert len(said[0]) < 150


def test_a_directory_is_all_or_nothing_and_lists_every_problem(tmp_path: Path) -> None:
    write(tmp_path, good=MINIMAL, bad=MINIMAL.replace("0.92", "92"), worse="a: [\n")
    with pytest.raises(PolicyError) as caught:
        load_directory(tmp_path)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"{tmp_path}/bad.yaml:5: domains.chat.threshold")
    assert lines[1].startswith(f"{tmp_path}/worse.yaml:")
    assert len(lines) == 2
    assert caught.value.where == f"{tmp_path}/bad.yaml:5"


def test_yml_counts_and_hidden_files_and_folders_do_not(tmp_path: Path) -> None:
    write(tmp_path, a=MINIMAL)
    (tmp_path / "b.yml").write_text(MINIMAL.replace("acme", "bravo"))
    (tmp_path / ".c.yaml").write_text("broken: [")
    (tmp_path / "notes.txt").write_text("broken: [")
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub", d="broken: [")
    assert load_directory(tmp_path).tenants == ("acme", "bravo")


def test_linked_files_are_followed_as_container_mounts_have_them(tmp_path: Path) -> None:
    data = tmp_path / "..data"
    data.mkdir()
    write(data, a=MINIMAL)
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
    assert load_directory(tmp_path).tenants == ("acme",)


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_huge(path: Path) -> None:
    path.write_bytes(b"#" * (MAX_BYTES + 1))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (make_fifo, "not a regular file"),
        (make_huge, "larger than 256 KiB"),
        (lambda path: path.mkdir(), "cannot be read"),
        (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
        (lambda path: path.symlink_to("nowhere"), "cannot be read"),
        (lambda path: path.symlink_to(path.name), "cannot be read"),
        (lambda path: path.write_bytes(b""), "the file is empty"),
    ],
)
def test_what_is_no_small_regular_file_is_refused_without_waiting(tmp_path: Path, make, says: str) -> None:
    write(tmp_path, good=MINIMAL)
    make(tmp_path / "odd.yaml")
    with pytest.raises(PolicyError, match=says):
        load_directory(tmp_path)


def test_a_file_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    text = MINIMAL.encode()
    (tmp_path / "a.yaml").write_bytes(text + b"#" * (MAX_BYTES - len(text)))
    assert load_directory(tmp_path).tenants == ("acme",)


def test_no_directory_and_no_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="holds no policy file"):
        load_directory(tmp_path)
    with pytest.raises(PolicyError, match="cannot be read as a directory"):
        load_directory(tmp_path / "missing")
    with pytest.raises(PolicyError, match="cannot be read as a directory"):
        load_directory(write(tmp_path, a=MINIMAL) / "a.yaml")


def access(tenant: str, text: str) -> str:
    return MINIMAL.replace("acme", tenant) + f"access: {text}\n"


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (MINIMAL, MINIMAL, "b.yaml:2: tenant: {folder}/a.yaml already speaks for this tenant"),
        (
            access("one", f"{{keys: [{{name: k, hash: {HASH}}}]}}"),
            access("two", f"{{keys: [{{name: x, hash: {HASH.upper().replace('SHA', 'sha')}}}]}}"),
            "b.yaml:6: access.keys[0].hash: this key already belongs to {folder}/a.yaml (k)",
        ),
        (access("one", "{anonymous: loopback}"), access("two", "{anonymous: loopback}"), "access.anonymous: one tenant at most"),
        (access("one", "{unknown_keys: passthrough}"), access("two", "{unknown_keys: passthrough}"), "access.unknown_keys: one tenant at most"),
    ],
)  # fmt: skip
def test_what_two_files_may_not_both_say(tmp_path: Path, first: str, second: str, says: str) -> None:
    write(tmp_path, a=first, b=second)
    with pytest.raises(PolicyError) as caught:
        load_directory(tmp_path)
    assert says.format(folder=tmp_path) in str(caught.value)


def test_one_key_twice_in_a_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path, a=access("one", f"{{keys: [{{name: a, hash: {HASH}}}, {{name: b, hash: {HASH}}}]}}"))
    with pytest.raises(PolicyError, match=r"access.keys\[1\].hash: this key already belongs to"):
        load_directory(tmp_path)


def test_the_generation_tells_content_and_not_comments(tmp_path: Path) -> None:
    def generation(text: str) -> str:
        write(tmp_path, a=text)
        return load_directory(tmp_path).generation

    first = generation(MINIMAL)
    assert generation("# a comment\n" + MINIMAL) == first
    assert generation(MINIMAL.replace("0.92", "0.93")) != first
    assert generation(MINIMAL) == first


def test_check_reports_warnings_beside_a_good_set(tmp_path: Path) -> None:
    report = check(write(tmp_path, a=MINIMAL.replace("0.92", "0.5")))
    assert report.snapshot is not None
    assert [w.level for w in report.warnings] == ["warning", "warning"]
    assert f"{tmp_path}/a.yaml:5: domains.chat.threshold: 0.5 is below 0.85" in str(report.warnings[1])
    broken = check(write(tmp_path, b="x"))
    assert broken.snapshot is None
    assert len(broken.problems) == 1


def test_the_built_in_policy_loads() -> None:
    assert load_default().tenants == ("default",)


def test_a_thousand_nonsense_files_give_a_bounded_message(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number}.yaml").write_text("nonsense")
    with pytest.raises(PolicyError) as caught:
        load_directory(tmp_path)
    assert "and " in str(caught.value).splitlines()[-1]
    assert len(str(caught.value).splitlines()) == 101


@given(st.data())
@settings(max_examples=200)
def test_a_file_cut_or_changed_anywhere_is_read_or_refused_by_name(data: st.DataObject) -> None:
    text = bytearray(TWO_DOMAINS.encode())
    position = data.draw(st.integers(0, len(text) - 1))
    if data.draw(st.booleans()):
        del text[position:]
    else:
        text[position] = data.draw(st.integers(0, 255))
    found, said = read_file(bytes(text), "f.yaml")
    assert (found is None) == bool(said)
    assert all(str(problem).startswith("f.yaml:") for problem in said)


def test_lines_of_a_right_file_are_kept_for_explaining() -> None:
    assert source(TWO_DOMAINS).line("assign", "rules", 1) == 29
