"""The compiled part of the package. Optional: without a C compiler the Python twins do its work."""

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

SOURCES = sorted(Path("cdc_relay/native").glob("*.pyx"))
# Indexes are checked where they come from the wire; negative ones are not used.
DIRECTIVES = {"language_level": 3, "boundscheck": False, "wraparound": False}
FLAGS = ["-O3", "-g0"]  # without what a debugger reads, which is most of a module


def extension(source: Path) -> Extension:
    return Extension(f"cdc_relay.native.{source.stem}", [str(source)], extra_compile_args=FLAGS)


def compile_if_possible() -> list[Extension]:
    # Forced (2 s): a new Cython or other directives leave the C as it is, which is newer than its source.
    wanted = [extension(each) for each in SOURCES]
    made: list[Extension] = cythonize(wanted, compiler_directives=DIRECTIVES, build_dir="build", force=True)
    for each in made:
        each.optional = True  # said here: cythonize() makes extensions anew and forgets it
    return made


setup(ext_modules=compile_if_possible())
