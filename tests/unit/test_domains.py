"""A column of a domain means what the domain is made of."""

from __future__ import annotations

import pytest

from cdc_relay.protocol.messages import Column, Relation, Type
from cdc_relay.routing.domains import Domains

OWN_OID = 16_999


def resolved(namespace: str, name: str) -> Column:
    domains = Domains()
    domains.learn(Type(OWN_OID, namespace, name))
    relation = Relation(1, "public", "outbox", "d", (Column("payload", OWN_OID, -1, False), Column("n", 23, -1, True)))
    payload, number = domains.resolve(relation).columns
    assert number == Column("n", 23, -1, True)
    return payload


@pytest.mark.parametrize(("name", "oid"), [("bytea", 17), ("jsonb", 3802), ("numeric", 1700), ("_int4", 1007)])
def test_a_built_in_type_s_name_is_the_base_of_a_domain(name: str, oid: int) -> None:
    assert resolved("", name) == Column("payload", oid, -1, False)


@pytest.mark.parametrize(("namespace", "name"), [("public", "mood"), ("public", "bytea"), ("", "polygon")])
def test_any_other_type_stays_what_it_is(namespace: str, name: str) -> None:
    assert resolved(namespace, name).type_oid == OWN_OID
