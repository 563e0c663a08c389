"""The role that every relay of the suite runs with is the one of docs/privileges.md, to the last right."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.fixtures.fix_postgres import Database
from tests.fixtures.fix_relay import Pipeline
from tests.integration.test_setup_roles import documented_sql

pytestmark = [pytest.mark.core, pytest.mark.kafka]

Right = tuple[str, ...]
RIGHTS = """
WITH acl AS (
    SELECT 'database' AS kind, datname::text AS name, datacl AS acl FROM pg_database
    UNION ALL SELECT 'schema', nspname, nspacl FROM pg_namespace
    UNION ALL SELECT 'relation', oid::regclass::text, relacl FROM pg_class
    UNION ALL SELECT 'column', attrelid::regclass || '.' || attname, attacl FROM pg_attribute
    UNION ALL SELECT 'function', oid::regprocedure::text, proacl FROM pg_proc
    UNION ALL SELECT 'type', oid::regtype::text, typacl FROM pg_type
    UNION ALL SELECT 'language', lanname, lanacl FROM pg_language
    UNION ALL SELECT 'tablespace', spcname, spcacl FROM pg_tablespace
    UNION ALL SELECT 'server', srvname, srvacl FROM pg_foreign_server
    UNION ALL SELECT 'default', defaclobjtype::text, defaclacl FROM pg_default_acl
)
SELECT kind, name, each.privilege_type || CASE WHEN each.is_grantable THEN ' with grant option' ELSE '' END
  FROM acl, aclexplode(acl.acl) AS each WHERE each.grantee = %(role)s::regrole
UNION ALL SELECT 'member of', roleid::regrole::text, '' FROM pg_auth_members WHERE member = %(role)s::regrole
UNION ALL SELECT 'owner of', classid::regclass::text, objid::text
            FROM pg_shdepend WHERE refobjid = %(role)s::regrole AND deptype = 'o'
UNION ALL SELECT 'attribute', attribute, '' FROM pg_roles,
       unnest(ARRAY[CASE WHEN rolsuper THEN 'superuser' END, CASE WHEN rolcreaterole THEN 'createrole' END,
                    CASE WHEN rolcreatedb THEN 'createdb' END, CASE WHEN rolcanlogin THEN 'login' END,
                    CASE WHEN rolreplication THEN 'replication' END, CASE WHEN rolbypassrls THEN 'bypassrls' END])
           AS attribute WHERE oid = %(role)s::regrole AND attribute IS NOT NULL"""


def rights_of(database: Database, role: str) -> set[Right]:
    with database.connect() as conn:
        return {tuple(row) for row in conn.execute(RIGHTS, {"role": role})}


@pytest.fixture
def documented(pipeline: Pipeline) -> Iterator[set[Right]]:
    """The rights of a role that the SQL of docs/privileges.md has made."""
    database, role = pipeline.database, f"{pipeline.database.name}_documented"
    for statement in documented_sql("## run").split(";\n"):
        database.execute(re.sub(r"\brelay\b", role, re.sub(r"\borders\b", database.name, statement)))
    yield rights_of(database, role)
    database.execute(f"DROP OWNED BY {role}")
    database.execute(f"DROP ROLE {role}")


def test_the_fixtures_role_has_every_right_of_the_document_and_no_other(
    pipeline: Pipeline, documented: set[Right]
) -> None:
    """But CONNECT, which PUBLIC has."""
    assert ("attribute", "replication", "") in documented
    assert rights_of(pipeline.database, pipeline.role) == documented - {("database", pipeline.database.name, "CONNECT")}


@pytest.mark.parametrize(
    "more",
    [
        "GRANT SELECT ON public.outbox TO {}",
        "GRANT UPDATE (type) ON public.outbox TO {}",
        "GRANT DELETE ON cdc_relay.guard TO {}",
        "GRANT pg_read_all_stats TO {}",
        "ALTER ROLE {} CREATEDB",
        "GRANT CREATE ON SCHEMA cdc_relay TO {}",
        "ALTER TABLE public.outbox OWNER TO {}",
    ],
)
def test_one_right_more_would_be_noticed(pipeline: Pipeline, more: str) -> None:
    before = rights_of(pipeline.database, pipeline.role)
    pipeline.database.execute(more.format(pipeline.role))
    assert rights_of(pipeline.database, pipeline.role) > before


def test_every_connection_of_a_relay_is_that_role_s(pipeline: Pipeline) -> None:
    pipeline.start_relay()
    rows = pipeline.database.execute(
        "SELECT usename FROM pg_stat_activity"
        " WHERE application_name LIKE 'cdc-relay:%' AND datname = current_database()"
    )
    assert (len(rows), set(rows)) == (3, {(pipeline.role,)})
