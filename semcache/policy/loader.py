"""Reads a directory of policy files, all or nothing, and names every problem with file and line.

Trusts nothing it opens: only regular files (a FIFO or device behind a link is refused without
being read), at most 256 KiB each, at most 2,000 of them. Blocks on the file system: call it from
a thread when an event loop runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from pydantic import ValidationError

from semcache.policy.checks import PolicySource, check_file, check_set
from semcache.policy.document import Document, DocumentError, read_document
from semcache.policy.lint import lint
from semcache.policy.prefix import public_messages
from semcache.policy.problems import Problem, from_validation, policy_error, printable
from semcache.policy.prompts import bounded_bytes, read_prompts, reason
from semcache.policy.schema import PolicyFile
from semcache.policy.snapshot import PolicySnapshot, build_snapshot

MAX_BYTES = 256 * 1024
MAX_FILES = 2000
SUFFIXES = (".yaml", ".yml")
DEFAULT_NAME = "default.yaml"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What `semcache policy check` shows: the snapshot when there are no errors, and all findings."""

    snapshot: PolicySnapshot | None
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def load_directory(path: Path) -> PolicySnapshot:
    """Load every `*.yaml` and `*.yml` file of a directory (hidden files and folders left out).

    Raises:
        PolicyError: any file is refused, or there is none; lists all problems, one a line.
    """
    sources, problems = read_directory(path)
    if problems:
        raise policy_error(problems)
    return build_snapshot(sources)


def load_default() -> PolicySnapshot:
    """Load the policy inside the package: tenant `default`, for callers on this machine.

    Raises:
        PolicyError: the installation is damaged.
    """
    data = resources.files("semcache.policy").joinpath(DEFAULT_NAME).read_bytes()
    source, problems = read_file(data, DEFAULT_NAME)
    if source is None:
        raise policy_error(problems)
    return build_snapshot([source])


def check(path: Path) -> CheckReport:
    """Load a directory for a report: errors, and warnings for what is allowed but looks wrong."""
    sources, problems = read_directory(path)
    warnings = tuple(warning for source in sources for warning in lint(source))
    return CheckReport(None if problems else build_snapshot(sources), tuple(problems), warnings)


def read_directory(path: Path) -> tuple[list[PolicySource], list[Problem]]:
    """Read all files; gives those of the right shape, and every problem found."""
    try:
        names = policy_names(path)
    except OSError as error:
        return [], [Problem(str(path), 0, "", f"cannot be read as a directory: {reason(error)}")]
    if not names:
        return [], [Problem(str(path), 0, "", "holds no policy file (*.yaml)")]
    if len(names) > MAX_FILES:
        return [], [Problem(str(path), 0, "", f"holds more than {MAX_FILES} policy files")]
    sources: list[PolicySource] = []
    problems: list[Problem] = []
    for name in names:
        source, found = _read_path(path / name)
        problems += found
        if source is not None:
            sources.append(source)
    return sources, problems + check_set(sources)


def policy_names(path: Path) -> list[str]:
    """Give the names of the policy files of a directory, sorted.

    Raises:
        OSError: it is no readable directory.
    """
    names = (entry.name for entry in path.iterdir())
    return sorted(name for name in names if name.endswith(SUFFIXES) and not name.startswith("."))


def _read_path(path: Path) -> tuple[PolicySource | None, list[Problem]]:
    file = printable(path, 300)
    try:
        data = bounded_bytes(path, MAX_BYTES)
    except OSError as error:
        return None, [Problem(file, 0, "", f"cannot be read: {reason(error)}")]
    return read_file(data, file, path.parent)


def read_file(
    data: bytes, file: str, folder: Path | None = None
) -> tuple[PolicySource | None, list[Problem]]:
    """Read the bytes of one file; gives the source when it is right in itself.

    Args:
        data: the file's bytes.
        file: its name in messages.
        folder: where the files of public messages lie; None: there are none.
    """
    if len(data) > MAX_BYTES:
        return None, [Problem(file, 0, "", f"is larger than {MAX_BYTES // 1024} KiB")]
    try:
        document = read_document(data, file)
    except DocumentError as error:
        return None, [error.problem]
    return _validated(document, file, folder)


def _validated(
    document: Document, file: str, folder: Path | None
) -> tuple[PolicySource | None, list[Problem]]:
    try:
        policy = PolicyFile.model_validate(document.value)
    except ValidationError as error:
        return None, sorted(from_validation(error, file, document.lines), key=_by_line)
    source = PolicySource(file, policy, document.lines)
    texts, problems = read_prompts(source, folder)
    problems += check_file(source)
    if not problems:
        source = replace(source, public=public_messages(policy, texts))
    return (None if problems else source), sorted(problems, key=_by_line)


def _by_line(problem: Problem) -> int:
    return problem.line
