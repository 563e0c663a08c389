"""PURE: which records are open, which are settled, and how far the slot may be confirmed."""
