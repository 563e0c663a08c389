"""Topic names and topic templates as the file spells them: columns are SQL identifiers, the rest is Kafka's."""

from __future__ import annotations

from cdc_relay.config.route_fields import parse_template
from cdc_relay.routing.templates import Template
from cdc_relay.routing.topics import LONGEST_TOPIC, has_illegal_sign, is_legal_topic

__all__ = ["check_topic", "parse_topic"]

_LEGAL = f"Kafka allows 1 to {LONGEST_TOPIC} letters, digits, '.', '_' and '-' in the name of a topic"


def check_topic(name: str) -> str:
    if not is_legal_topic(name):
        raise ValueError(f"{_LEGAL}, and neither . nor .. alone")
    return name


def parse_topic(text: str) -> Template:
    """What no row can make legal is refused here; the rest is judged row by row."""
    template = parse_template(text)
    literal = "".join(template.literals)
    if template.is_fixed:
        check_topic(literal)
    if has_illegal_sign(literal) or len(literal) > LONGEST_TOPIC:
        raise ValueError(_LEGAL)
    return template
