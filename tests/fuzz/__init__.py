"""Garbage is accepted or refused with one error of ours: harnesses for a fuzzer, and the corpus that it found."""
