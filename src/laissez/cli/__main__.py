"""`python -m laissez.cli`: the command where no script is installed."""

from __future__ import annotations

from laissez.cli.app import main

if __name__ == "__main__":
    main()
