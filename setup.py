"""The compiled part of the package. Optional: without a C compiler the Python twins do its work."""

from Cython.Build import cythonize
from setuptools import Extension, setup

MODULES = ("copy_data", "lane", "ledger", "reports")
# Indexes are checked where they come from the wire; negative ones are not used.
DIRECTIVES = {"language_level": 3, "boundscheck": False, "wraparound": False}


def extension(name: str) -> Extension:
    return Extension(
        f"cdc_relay.native.{name}", [f"cdc_relay/native/{name}.pyx"], extra_compile_args=["-O3"], optional=True
    )


setup(ext_modules=cythonize([extension(name) for name in MODULES], compiler_directives=DIRECTIVES, build_dir="build"))
