"""`python -m semcache`: hands over to the command line."""

from __future__ import annotations

from semcache.cli.main import main

if __name__ == "__main__":
    main()
