"""docker-compose.yml and what it mounts: read, checked, and as far as goes without containers, run."""

from __future__ import annotations

import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from semcache.errors import RequestError
from semcache.policy.loader import load_directory
from tests.e2e.running import Proxy, running
from tests.fakes.upstream_server import ByRequest, chat_json, in_thread
from tests.store.servers import running as running_valkey

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
MADE = ("./deploy/secrets", "./deploy/policies")


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """What ./deploy/begin makes, and the key that it tells."""
    folder = tmp_path_factory.mktemp("deploy")
    told = _begin(folder)
    return folder, next(word for word in told.split() if word.startswith("sk-semcache-"))


def _begin(folder: Path) -> str:
    command = [str(ROOT / "deploy/begin"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_tool_reads_it() -> None:
    tool = _tool()
    if tool is None:
        pytest.skip("neither `docker compose` nor `docker-compose` is here")
    for profile in ([], ["--profile", "vllm"]):
        command = [*tool, *profile, "-f", str(ROOT / "docker-compose.yml"), "config", "-q"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def _tool() -> list[str] | None:
    for tool in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(tool[0]) and _answers(tool):
            return tool
    return None


def _answers(tool: list[str]) -> bool:
    return subprocess.run([*tool, "version"], capture_output=True, check=False).returncode == 0


def test_what_is_mounted_is_there() -> None:
    files = [secret["file"] for secret in COMPOSE["secrets"].values()]
    for service in SERVICES.values():
        files += [volume.split(":")[0] for volume in service.get("volumes", []) if volume.startswith("./")]
    assert len(files) > 10
    for file in files:
        assert file.startswith(MADE) or (ROOT / file).exists(), file


def test_everything_named_is_declared() -> None:
    volumes = {
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
        if not volume.startswith("./")
    }
    assert volumes == set(COMPOSE["volumes"])
    for name, service in SERVICES.items():
        assert set(service.get("secrets", ())) <= set(COMPOSE["secrets"]), name
        assert set(service["networks"]) <= set(COMPOSE["networks"]), name
        assert set(service.get("depends_on", ())) <= set(SERVICES), name


def test_redis_is_out_of_reach_and_forgets_nothing() -> None:
    assert SERVICES["redis"]["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    command = SERVICES["redis"]["command"]
    # Full rather than forgetful: what is forgotten at random may be a verdict.
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"
    assert command[command.index("--appendonly") + 1] == "yes"


def test_the_api_alone_is_for_other_machines() -> None:
    ports = {name: port for name, service in SERVICES.items() for port in service.get("ports", [])}
    assert [name for name, port in ports.items() if not port.startswith("127.0.0.1:")] == ["gateway"]


def test_containers_have_time_to_drain() -> None:
    seconds = float(SERVICES["semcache-1"]["stop_grace_period"].removesuffix("s"))
    assert seconds > 30  # the default of limits.drain_seconds


def test_no_secret_is_shipped_and_none_is_made_twice(begun: tuple[Path, str]) -> None:
    folder, key = begun
    made = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert len(made) == 4
    assert all(key.encode() not in content for content in made.values())
    assert stat.S_IMODE((folder / "secrets").stat().st_mode) == 0o711  # no listing for others
    assert "sk-semcache" not in _begin(folder)
    assert made == {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"/deploy/secrets/", "/deploy/policies/"} <= set(ignored)


def test_the_policy_lets_nobody_in_without_the_key(begun: tuple[Path, str]) -> None:
    folder, key = begun
    snapshot = load_directory(folder / "policies")
    assert snapshot.authenticate(f"Bearer {key}", None, True).key_name == "first"
    for other in (None, f"Bearer {key}x"):
        with pytest.raises(RequestError):
            snapshot.authenticate(other, None, True)


@pytest.fixture(scope="module")
def served(begun: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """The proxy of the compose file with its profile vllm: same configuration, other addresses."""
    folder, _ = begun
    socket = tmp_path_factory.mktemp("valkey") / "v.sock"
    # The server's own words, as far as they concern this: its file lies where it is started.
    options = ["--appendonly", "no", "--maxmemory-policy", "noeviction"]
    with (
        in_thread(ByRequest(lambda seen: chat_json("Well."))) as upstream,
        running_valkey(options, str(socket)) as url,
    ):
        text = (ROOT / "deploy/compose/semcache-vllm.yaml").read_text(encoding="utf-8")
        for shipped, here in (
            ("redis://redis:6379/0", url),
            ("/run/secrets", str(folder / "secrets")),
            ("/etc/semcache-policies", str(folder / "policies")),
            ("http://vllm:8000/v1", upstream.url),
            ("host: 0.0.0.0\nport: 8080\n", "host: 127.0.0.1\n"),
        ):
            assert shipped in text
            text = text.replace(shipped, here)
        config = folder / "semcache.yaml"
        config.write_text(text, encoding="utf-8")
        with running(tmp_path_factory.mktemp("proxy") / "data", "--config", str(config)) as proxy:
            yield proxy


def test_its_configuration_serves(begun: tuple[Path, str], served: Proxy) -> None:
    key = {"authorization": f"Bearer {begun[1]}"}
    question = "What is a semantic cache?"
    assert served.chat(question).status == 401
    assert served.chat(question, key).headers["semcache-outcome"] == "miss"
    assert served.chat(question, key).headers["semcache-outcome"] == "exact"


def test_its_prometheus_may_read_the_metrics(begun: tuple[Path, str], served: Proxy) -> None:
    scrape = yaml.safe_load((ROOT / "deploy/compose/prometheus.yml").read_text(encoding="utf-8"))
    told = scrape["scrape_configs"][0]["authorization"]
    token = (begun[0] / told["credentials_file"].removeprefix("/run/")).read_text(encoding="utf-8")
    from_elsewhere = {"x-forwarded-for": "10.0.0.9"}
    assert served.request("GET", "/metrics", None, from_elsewhere).status == 401
    bearer = {"authorization": f"{told['type']} {token}", **from_elsewhere}
    assert served.request("GET", "/metrics", None, bearer).status == 200
