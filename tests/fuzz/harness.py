"""One target under atheris: `python -m tests.fuzz.harness TARGET LIBFUZZER-OPTION…`. It does not return.

Only here is atheris known. What is imported before the instrumentation begins shows no paths, so nothing of ours is.
"""

from __future__ import annotations

import sys

import atheris

from tests.fuzz.target import INSTRUMENTED, load

if __name__ == "__main__":
    name, *options = sys.argv[1:]
    with atheris.instrument_imports(include=list(INSTRUMENTED[name])):
        target = load(name)
    atheris.Setup([sys.argv[0], *options], target.check)
    atheris.Fuzz()
