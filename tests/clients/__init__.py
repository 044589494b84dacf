"""The official clients of every dialect, in programs of their own, asking a real proxy."""

import pytest

pytest.register_assert_rewrite(
    "tests.clients.scenes.answers", "tests.clients.scenes.faults", "tests.clients.scenes.objects"
)
