"""The admin process stays small beside the proxies, and its documents are true."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from semcache.cli import admin_door
from semcache.cli.admin_door import tokens_of
from semcache.cli.admin_parts import LateVerifier, hosts_of
from semcache.decide.verify.verifier import open_verifier
from semcache.errors import PolicyError
from semcache.review.api import review_app
from semcache.settings import load_settings
from tests.review.scene import Scene
from tests.review.test_api import routes

DOCUMENT = Path(__file__).parents[2] / "docs/admin-api.md"


def test_the_admin_process_loads_no_model_code() -> None:
    code = (
        "import sys; sys.argv = ['semcache', 'admin']\n"
        "from semcache.cli.main import _app; _app()\n"
        "heavy = ('torch', 'faiss', 'onnxruntime', 'tokenizers', 'transformers', 'httpx', 'aiohttp', 'matplotlib', 'pyarrow', 'genai_prices')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_settings_of_review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("a-secret-long-enough\n")
    told = {
        "admin": {
            "host": "0.0.0.0", "port": 9000, "public_host": "Review.example",
            "tokens": [{"name": "ann", "secret": f"file:{tmp_path}/secret", "role": "reviewer", "tenants": ["acme"]}],
        }
    }  # fmt: skip
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(told))
    monkeypatch.setenv("SEMCACHE_CONFIG", str(tmp_path / "c.yaml"))
    settings = load_settings({"admin": {"port": 9001}})
    assert (settings.admin.port, settings.admin.host) == (9001, "0.0.0.0"), (
        "a flag leaves the rest of the file"
    )
    found = tokens_of(settings).tokens.find("a-secret-long-enough")
    assert found is not None
    assert (found.name, found.role, found.tenants) == ("ann", "reviewer", {"acme"})
    assert hosts_of(settings) == {"review.example", "0.0.0.0"}
    assert "a-secret" not in repr(settings)
    told["admin"]["tokens"][0]["rolle"] = "x"  # type: ignore[index]
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(told))
    with pytest.raises(PolicyError, match=r"rolle: there is no such setting; did you mean role"):
        load_settings({})
    monkeypatch.delenv("SEMCACHE_CONFIG")
    assert hosts_of(load_settings({})) == {"127.0.0.1", "localhost", "[::1]"}


def test_the_reference_names_every_route_and_no_other(at: Scene) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(GET|POST) (/[^`]*)` \| (viewer|reviewer|operator) \|", text, re.MULTILINE))
    assert named == {(method, path, role.value) for method, path, role in routes(at)}


def test_every_problem_is_explained(at: Scene) -> None:
    source = "".join(path.read_text() for path in (DOCUMENT.parents[1] / "semcache/review").glob("*.py"))
    codes = set(re.findall(r'code="([a-z-]+)"', source)) | set(
        re.findall(r'UnfitError\(\s*"([a-z-]+)"', source)
    )
    codes |= set(re.findall(r'problem\(\s*\d+,\s*"([a-z-]+)"', source))
    text = DOCUMENT.read_text(encoding="utf-8")
    assert not {code for code in codes if f"`{code}`" not in text}
    assert review_app(at.service, at.costing, at.eraser).openapi_url in text


def test_the_verifier_is_loaded_when_it_is_first_asked() -> None:
    verifier = LateVerifier()
    assert verifier._loaded is None
    score = verifier.score("What is the capital of France?", "What's France's capital?", 0.95)
    assert score == open_verifier().score("What is the capital of France?", "What's France's capital?", 0.95)
    assert verifier.score("a", "b", 0.1) is not None


def test_where_the_usual_port_is_taken_a_free_one_is_named_on_the_screen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(admin_door, "DEFAULT_PORT", port)
        notes: list[str] = []
        settings = load_settings({"data": tmp_path})
        with admin_door.listen(settings, notes.append) as found:
            assert found.getsockname()[1] != port
            assert f":{found.getsockname()[1]}/login#token=" in admin_door.ready_text(settings, found)
        assert str(port) in notes[0]
        with pytest.raises(PolicyError, match="choose another port"):
            admin_door.listen(load_settings({"data": tmp_path, "admin": {"port": port}}), notes.append)
