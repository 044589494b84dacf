"""Policy files of two tenants with keys, and a way to change them under a running proxy."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

from tests.e2e.running import Proxy

ALPHA, ALPHA_OLD, BETA = "sk-alpha-1", "sk-alpha-2", "sk-beta-1"


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def policy(
    tenant: str, *keys: str, domains: str = "", rules: str = "", defaults: str = "", more: str = ""
) -> str:
    """Write a policy file; `domains`, `rules` and `defaults` are ready lines of YAML.

    Nothing is audited unless `defaults` says so: calls of the upstream are counted, and audits come by chance.
    """
    calm = "" if "audit:" in defaults else "  audit: {enabled: false}\n"
    hashes = "".join(
        f'\n    - {{name: key{number}, hash: "sha256:{hashlib.sha256(key.encode()).hexdigest()}"}}'
        for number, key in enumerate(keys)
    )
    return (
        f"schema_version: 1\ntenant: {tenant}\n"
        f"access:\n  keys:{hashes or ' []'}\n  anonymous: never\n  unknown_keys: reject\n"
        f"default_domain: chat\ndefaults:\n  mode: semantic\n  threshold: 0.92\n{calm}{defaults}"
        f"domains:\n  chat: {{}}\n{domains}assign:\n  header: true\n  rules:\n{rules or '    []'}\n{more}"
    )


ALPHA_DOMAINS = """\
  personal: {scope: user}
  equal: {mode: exact}
  none: {mode: "off"}
  trial: {mode: shadow}
  approved: {threshold: 0.9999, verified_threshold: 0.85}
  strict: {threshold: 0.9999}
"""
ALPHA_RULES = "".join(
    f'    - {{models: ["{name}-*"], domain: {name}}}\n'
    for name in ("personal", "equal", "none", "trial", "approved")
)


def alpha(*keys: str, defaults: str = "", more: str = "") -> str:
    return policy("alpha", *keys, domains=ALPHA_DOMAINS, rules=ALPHA_RULES, defaults=defaults, more=more)


class PolicyFolder:
    """The directory that a proxy watches."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.reset()

    def reset(self) -> None:
        self.write("alpha", alpha(ALPHA, ALPHA_OLD))
        self.write("beta", policy("beta", BETA))

    def write(self, name: str, text: str) -> None:
        """Replace a file whole, as editors do."""
        new = self.folder / f".{name}.new"
        new.write_text(text, encoding="utf-8")
        new.replace(self.folder / f"{name}.yaml")

    def change(self, proxy: Proxy, name: str, text: str) -> str:
        """Replace a file and wait until the proxy has taken or refused it; gives the problem, if any."""
        before = proxy.ready_detail()
        self.write(name, text)
        until = time.monotonic() + 15.0
        while time.monotonic() < until:
            now = proxy.ready_detail()
            if (now["policy_generation"], now["policy_error"]) != (
                before["policy_generation"],
                before["policy_error"],
            ):
                return str(now["policy_error"])
            time.sleep(0.05)
        raise AssertionError("the proxy did not look at its policies")
