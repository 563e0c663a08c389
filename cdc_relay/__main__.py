"""`python -m cdc_relay` is the `cdc-relay` command."""

from cdc_relay.cli import main

if __name__ == "__main__":
    main()
