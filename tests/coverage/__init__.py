"""`make coverage`: lines and branches, each against its own limit. coverage.py's own limit is on both together, where
many lines hide few branches."""
