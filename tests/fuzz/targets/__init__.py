"""One file per target: `check(data)`, which raises what is a finding, `seeds()` to begin with, and a fuzzer's `TOKENS`.

Nothing here knows a fuzzer: atheris, hypothesis and a plain replay all call the same function.
"""
