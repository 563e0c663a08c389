"""What an operator does about a finding, step by step: each step is something to paste somewhere, or words. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["SETUP", "Step", "Way", "reload_setting", "restart_setting", "shell", "sql", "words", "yaml_lines"]


class Way(StrEnum):
    SQL = "sql"  # for psql, as a role that may
    SHELL = "shell"
    YAML = "yaml"  # for the configuration file
    WORDS = "words"  # nothing to paste


@dataclass(frozen=True, slots=True)
class Step:
    way: Way
    text: str

    def __str__(self) -> str:
        return self.text


def sql(text: str) -> Step:
    return Step(Way.SQL, text)


def shell(text: str) -> Step:
    return Step(Way.SHELL, text)


def yaml_lines(text: str) -> Step:
    return Step(Way.YAML, text)


def words(text: str) -> Step:
    return Step(Way.WORDS, text)


SETUP = shell("cdc-relay setup -c FILE")


def reload_setting(name: str, value: str) -> tuple[Step, ...]:
    """Two statements, and so two steps: ALTER SYSTEM stands in no transaction, and `psql -c` would make one of both."""
    return sql(f"ALTER SYSTEM SET {name} = '{value}'"), sql("SELECT pg_reload_conf()")


def restart_setting(name: str, value: str) -> tuple[Step, ...]:
    return sql(f"ALTER SYSTEM SET {name} = '{value}'"), words("restart Postgres")
