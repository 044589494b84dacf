"""The collections in a Milvus: how one is made, found and read through. Blocking; knows no entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def create(client: Any, name: str, dimension: int, timeout: float) -> None:
    """Make a collection for vectors of a dimension and load it; no error if another process just did."""
    from pymilvus import DataType  # noqa: PLC0415 - only where a Milvus is used

    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    # An id is 256 characters at most, and twice four bytes each as hex.
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=2100)
    schema.add_field("space", DataType.VARCHAR, max_length=32, is_partition_key=True)
    schema.add_field("owner", DataType.VARCHAR, max_length=8192)
    schema.add_field("sample", DataType.VARCHAR, max_length=64)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)
    index = client.prepare_index_params()
    index.add_index("vector", index_type="AUTOINDEX", metric_type="IP")
    try:
        client.create_collection(
            name, schema=schema, index_params=index, consistency_level="Bounded", timeout=timeout
        )
    except Exception:
        if not client.has_collection(name, timeout=timeout):
            raise


def has(client: Any, name: str, timeout: float) -> tuple[int, int] | None:
    """Give dimension and number of rows of a collection, and see to it that it is loaded; None without one."""
    if not client.has_collection(name, timeout=timeout):
        return None
    fields = client.describe_collection(name, timeout=timeout)["fields"]
    (dimension,) = (int(field["params"]["dim"]) for field in fields if field["name"] == "vector")
    client.load_collection(name, timeout=timeout)
    rows = int(client.get_collection_stats(name, timeout=timeout)["row_count"])
    return dimension, rows


def rows_in(client: Any, name: str, told: str, page: int) -> Iterator[list[dict[str, Any]]]:
    """Yield `id` and `owner` of all rows that the filter `told` names, a page at a time."""
    pages = client.query_iterator(
        name, batch_size=page, filter=told, output_fields=["id", "owner"], consistency_level="Strong"
    )
    try:
        while found := pages.next():
            yield found
    finally:
        pages.close()
