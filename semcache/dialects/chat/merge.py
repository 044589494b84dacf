"""Put the deltas of one streamed choice together to one message.

Pure. Texts are joined, everything else must agree with itself; where it does not, `lossy` becomes
True and the stream's own chunks have to be kept. Judges nothing: that is `canonical`'s.
"""

from __future__ import annotations

from typing import Any


class FieldMerge:
    """An object whose fields arrive in parts: strings grow, other values stay.

    Args:
        steady: Fields that are sent whole, perhaps again and again (`role`, `id`, `type` ...).
        joins: Whether strings of all other fields are parts of a text.
    """

    def __init__(self, steady: frozenset[str], *, joins: bool = True) -> None:
        self._steady = steady
        self._joins = joins
        self._values: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}
        self.lossy = False

    def add(self, key: str, value: Any) -> None:
        """Take one field of one delta."""
        texts = self._texts.get(key)
        if texts is not None:
            if isinstance(value, str):
                texts.append(value)
            elif value is not None:
                self.lossy = True
        elif self._joins and isinstance(value, str) and key not in self._steady and not self._values.get(key):
            # A placeholder keeps the order of the fields.
            self._values[key] = None
            self._texts[key] = [value]
        else:
            self._settle(key, value)

    def get(self, key: str) -> Any:
        """Give the value of a steady field, or None."""
        return self._values.get(key)

    def result(self) -> dict[str, Any]:
        """Give the object as it stands."""
        return {**self._values, **{key: "".join(parts) for key, parts in self._texts.items()}}

    def _settle(self, key: str, value: Any) -> None:
        old = self._values.get(key)
        if old is None or old in ("", [], {}):
            self._values[key] = value if value is not None else old
        elif value is not None and value not in ("", [], {}) and value != old:
            self.lossy = True
            self._values[key] = value


_CALL = frozenset(("id", "type", "name"))


class CallMerge:
    """One tool call (or the older `function_call`): `arguments` or `input` grows, names stay."""

    def __init__(self) -> None:
        self._outer = FieldMerge(_CALL, joins=False)
        self._inner: dict[str, FieldMerge] = {}

    @property
    def id(self) -> Any:
        """The call's id once it came."""
        return self._outer.get("id")

    @property
    def lossy(self) -> bool:
        """Whether something was said twice and differently."""
        return self._outer.lossy or any(inner.lossy for inner in self._inner.values())

    def add(self, part: dict[str, Any]) -> None:
        """Take one delta of the call."""
        for key, value in part.items():
            if key == "index":
                continue
            if isinstance(value, dict):
                inner = self._inner.setdefault(key, FieldMerge(_CALL))
                for name, item in value.items():
                    inner.add(name, item)
                value = None  # noqa: PLW2901 - only the place is kept
            self._outer.add(key, value)

    def result(self) -> dict[str, Any]:
        """Give the call as it stands, in the shape of a whole answer (no index)."""
        return {**self._outer.result(), **{key: inner.result() for key, inner in self._inner.items()}}


class ChoiceMerge:
    """All deltas of one choice index."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._message = FieldMerge(frozenset(("role",)))
        self._extra = FieldMerge(frozenset(), joins=False)
        self._calls: list[CallMerge] = []
        self._by_index: dict[int, CallMerge] = {}
        self._function: FieldMerge | None = None
        self._logprobs: dict[str, list[Any] | None] | None = None
        self._finishes: list[str] = []
        self._odd = False

    @property
    def lossy(self) -> bool:
        """Whether `result` does not hold all that was sent."""
        parts: list[FieldMerge | CallMerge] = [self._message, self._extra, *self._calls]
        if self._function is not None:
            parts.append(self._function)
        return self._odd or any(part.lossy for part in parts)

    @property
    def has_ended(self) -> bool:
        """Whether it said why it ended."""
        return bool(self._finishes)

    def add(self, choice: dict[str, Any]) -> None:
        """Take one chunk's choice object."""
        for key, value in choice.items():
            if key == "delta":
                self._delta(value)
            elif key == "logprobs":
                self._add_logprobs(value)
            elif key == "finish_reason":
                # Two different ends are no end: the joined word is none that counts as finished.
                if value and value not in self._finishes:
                    self._finishes.append(value)
            elif key != "index":
                self._extra.add(key, value)

    def result(self) -> dict[str, Any]:
        """Give the choice in the shape of a whole answer."""
        message = self._message.result()
        if self._calls:
            message["tool_calls"] = [call.result() for call in self._calls]
        if self._function is not None:
            message["function_call"] = self._function.result()
        message = {
            "role": message.pop("role", None) or "assistant",
            "content": message.pop("content", None),
            **message,
        }
        return {
            "index": self._index,
            "message": message,
            "logprobs": self._logprobs,
            "finish_reason": " ".join(map(str, self._finishes)) or None,
            **self._extra.result(),
        }

    def _delta(self, delta: Any) -> None:
        if not isinstance(delta, dict):
            self._odd = self._odd or delta is not None
            return
        for key, value in delta.items():
            if key == "tool_calls":
                self._add_calls(value)
            elif key == "function_call" and isinstance(value, dict):
                self._function = self._function or FieldMerge(_CALL)
                for name, item in value.items():
                    self._function.add(name, item)
            else:
                self._message.add(key, value)

    def _add_calls(self, parts: Any) -> None:
        if parts is None:
            return
        if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
            self._odd = True
            return
        for part in parts:
            self._call_of(part).add(part)

    def _call_of(self, part: dict[str, Any]) -> CallMerge:
        index = part.get("index")
        if not isinstance(index, int):
            # No index (some servers): a new id begins a new call.
            self._odd = True
            index = len(self._calls) - (0 if part.get("id") or not self._calls else 1)
        call = self._by_index.get(index)
        if call is not None and part.get("id") and call.id and part["id"] != call.id:
            # One index for several calls (some servers again): told apart by the id.
            self._odd = True
            call = None
        if call is None:
            call = self._by_index[index] = CallMerge()
            self._calls.append(call)
        return call

    def _add_logprobs(self, value: Any) -> None:
        if value is None:
            return
        lists = isinstance(value, dict) and all(
            item is None or isinstance(item, list) for item in value.values()
        )
        if not lists:
            self._odd = True
            return
        self._logprobs = self._logprobs if self._logprobs is not None else {}
        for key, items in value.items():
            mine = self._logprobs.get(key)
            if mine is None:
                self._logprobs[key] = items if items is None else list(items)
            elif items is not None:
                mine.extend(items)
