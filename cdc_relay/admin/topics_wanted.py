"""From the configuration to the topics it wants, and to those that it only names. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from cdc_relay.config import RelayConfig, TopicSettings, settings_of
from cdc_relay.routing.router import Router
from cdc_relay.target import wanted_of

__all__ = ["WantedTopics", "wanted_topics_of"]

_ROUTE = "a route"
_DEAD_LETTERS = "parking.dead_letter_topic"


@dataclass(frozen=True, slots=True)
class WantedTopics:
    managed: dict[str, TopicSettings]
    unmanaged: dict[str, str]  # by what each is named

    @property
    def names(self) -> list[str]:
        return [*self.managed, *self.unmanaged]


def wanted_topics_of(config: RelayConfig) -> WantedTopics:
    """Topics whose names rows decide cannot be listed here."""
    managed = {name: settings_of(topic, config.topic_defaults) for name, topic in config.topics.items()}
    named = dict.fromkeys(Router(wanted_of(config).outboxes).fixed_topics, _ROUTE)
    if config.parking.dead_letter_topic is not None:
        named.setdefault(config.parking.dead_letter_topic, _DEAD_LETTERS)
    return WantedTopics(managed, {name: by for name, by in named.items() if name not in managed})
