"""`python -m tests.golden`: writes the golden files as the code has it now. Read the diff before you commit it."""

from __future__ import annotations

from tests.golden.files import ENVELOPES, path_of, render

for name in ENVELOPES:
    path_of(name).write_bytes(render(name))
    print(path_of(name).name)
