from collections.abc import Callable

from cdc_relay.delivery.intake import Intake
from cdc_relay.delivery.outcome import Outcome
from cdc_relay.delivery.parked import Parked
from cdc_relay.routing.router import AnyPlan

class Lane:
    def __init__(
        self,
        intake: Intake,
        take_any: Callable[[bytes | memoryview], Outcome | None],
        *,
        plans: dict[int, AnyPlan | None],
        parked: Parked,
    ) -> None: ...
    def take(self, frame: bytes | memoryview) -> Outcome | None: ...
