from cdc_relay.counters import Survey
from cdc_relay.delivery.gates import Position
from cdc_relay.delivery.ledger import Ledger
from cdc_relay.delivery.window import Window
from cdc_relay.model import Ticket

__all__ = ["find_placed", "settle_all", "survey"]

def find_placed(tickets: list[Ticket], positions: set[Position]) -> list[Ticket]: ...
def settle_all(tickets: list[Ticket], ledger: Ledger, window: Window) -> int: ...
def survey(tickets: list[Ticket]) -> Survey: ...
