"""The compiled twins have the types of what they stand for."""

from cdc_relay.delivery.ledger import Ledger as Ledger
from cdc_relay.delivery.window import Window as Window
from cdc_relay.model import Transaction as Transaction
