"""Plain curl; the kind is the protocol: chat, responses, messages, ollama or gemini."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from curl_words import WORDS
from talk import Job, Seen, run


class Failed(Exception):
    """What curl said, or the API's error document."""

    def __init__(self, message: str, status: int | None, body: Any) -> None:
        super().__init__(message)
        self.status_code, self.body = status, body


def command(job: Job) -> list[str]:
    """Give the command line; the body comes on standard input."""
    verb = "streamGenerateContent?alt=sse" if job.stream else "generateContent"
    headers = [
        "content-type: application/json",
        "anthropic-version: 2023-06-01" if job.kind == "messages" else "accept: */*",
        WORDS[job.kind].key.format(key=job.key),
        *(f"{name}: {value}" for name, value in job.headers.items()),
    ]
    line = ["curl", "--silent", "--show-error", "--no-buffer", "--include", "--noproxy", "*"]
    line += ["--max-time", str(job.timeout), "--request", "POST", "--data-binary", "@-"]
    line += [word for header in headers for word in ("--header", header)]
    return [*line, job.origin + WORDS[job.kind].path.format(model=job.model, verb=verb)]


def ask(job: Job, seen: Seen) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(command(job), stdin=pipe, stdout=pipe, stderr=pipe) as curl:
        assert curl.stdin is not None
        assert curl.stdout is not None
        assert curl.stderr is not None
        curl.stdin.write(json.dumps(WORDS[job.kind].ask(job)).encode())
        curl.stdin.close()
        status = _head(curl.stdout, seen)
        lines = []
        for line in curl.stdout:
            lines.append(line)
            if job.stream and status == 200:
                _event(job.kind, line, seen)
            if seen.leaves(job):
                curl.kill()
                return
        if curl.wait():
            raise Failed(curl.stderr.read().decode(), None, None)
    if status != 200:
        document = json.loads(b"".join(lines))
        inner = document.get("error", {})
        raise Failed(inner if isinstance(inner, str) else inner.get("message", ""), status, document)
    if not job.stream:
        WORDS[job.kind].whole(json.loads(b"".join(lines)), seen)
    for call in seen["calls"]:
        if isinstance(call["arguments"], str):
            call["arguments"] = json.loads(call["arguments"])
    if job.schema:
        seen["parsed"] = json.loads(seen["text"])


def _head(out: Any, seen: Seen) -> int:
    first = out.readline().decode().split(" ")
    headers = {}
    while line := out.readline().strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name] = value.strip()
    seen.headed(headers)
    return int(first[1]) if len(first) > 1 else 0


def _event(protocol: str, line: bytes, seen: Seen) -> None:
    """Read one line of a stream."""
    text = line.decode().strip()
    if protocol != "ollama":
        if not text.startswith("data: ") or text == "data: [DONE]":
            return
        text = text.removeprefix("data: ")
    if not text:
        return
    event = json.loads(text)
    if event.get("error"):
        raise Failed(json.dumps(event["error"]), 200, event)
    WORDS[protocol].event(event, seen)


version = subprocess.run(["curl", "--version"], capture_output=True, text=True, check=True).stdout.split(" ")[
    1
]
run(ask, {"curl": version})
