"""What each envelope makes of one corpus of rows, byte for byte. `python -m tests.golden` writes the files again."""
