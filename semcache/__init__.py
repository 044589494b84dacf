"""semcache: a semantic response cache in front of any LLM API."""

__version__ = "0.1.0"
