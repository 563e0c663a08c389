"""The demo: embedded servers, the real relay between them, and a live view of what arrives.

Owns everything it starts and leaves nothing behind. Must not be imported by the rest of the package.
"""
