"""The settings of the index (`index` in the configuration)."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class IndexSettings(BaseModel):
    """Where vectors are searched: in each worker's memory, or in a Milvus beside. Times in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    backend: Literal["memory", "milvus"] = "memory"
    max_vectors: Annotated[int, Field(gt=0, le=1 << 31)] = 1_000_000
    snapshots: bool = True
    snapshot_every: Annotated[float, Field(gt=0)] = 600.0
    url: str | None = None
    token: str | None = None
    collection: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")] = "semcache"
    deadline: Annotated[float, Field(gt=0)] = 0.25

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.backend == "milvus" and not self.url:
            raise ValueError("backend milvus needs a url: http://host:19530, or a file for milvus-lite")
        return self
