"""What is known not to work: by client, upstream and scenario, the states and why. Each is a row of the table's footnotes.

A fault that is no more fails the tests until it is taken from here.
"""

from __future__ import annotations

FAULTS: dict[tuple[str, str, str], dict[str, str]] = {}
