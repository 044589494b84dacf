"""Small policies and requests for the tests of this room."""

from __future__ import annotations

from pathlib import Path

from semcache.core import ChatRequest
from semcache.policy.checks import PolicySource
from semcache.policy.loader import read_file
from semcache.policy.snapshot import PolicySnapshot, build_snapshot

MINIMAL = """\
schema_version: 1
tenant: acme
default_domain: chat
domains:
  chat: {mode: semantic, threshold: 0.92}
"""

TWO_DOMAINS = """\
schema_version: 1
tenant: acme
access:
  anonymous: loopback
  unknown_keys: passthrough
default_domain: chat
domains:
  chat:
    mode: semantic
    threshold: 0.92
    verified_threshold: 0.90
    draft_threshold: 0.85
    ttl: 24h
    encoder_thresholds:
      house: {threshold: 0.97, verified: 0.96, draft: 0.94}
  medical:
    mode: semantic
    threshold: 0.97
    verified_threshold: 0.95
    ttl: 1h
    gate: {order: false}
  code: {mode: exact}
  private: {mode: semantic, threshold: 0.95, scope: user}
assign:
  rules:
    - name: doctor
      system_prompt: {contains: You are a Doctor}
      domain: medical
    - routes: /v1/completions
      models: ["code-*"]
      domain: code
"""


def source(text: str, file: str = "policy.yaml") -> PolicySource:
    """Read a text that must be right."""
    found, problems = read_file(text.encode(), file)
    assert not problems, "\n".join(map(str, problems))
    assert found is not None
    return found


def problems(text: str, file: str = "policy.yaml") -> list[str]:
    """Read a text that is wrong; gives what is said of it."""
    found, said = read_file(text.encode(), file)
    assert said
    assert found is None
    return [str(problem) for problem in said]


def snapshot(*texts: str) -> PolicySnapshot:
    return build_snapshot([source(text, f"policy{i}.yaml") for i, text in enumerate(texts)])


def write(folder: Path, **files: str) -> Path:
    """Write `name.yaml` files into a folder."""
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def chat(
    *, model: str = "gpt", system: str = "", path: str = "/v1/chat/completions", end_user: str = ""
) -> ChatRequest:
    return ChatRequest(
        dialect="openai",
        path=path,
        body={},
        model=model,
        stream=False,
        include_usage=False,
        prompt="hello",
        system=system,
        user_turns=1,
        message_count=2,
        temperature=None,
        end_user=end_user,
    )
