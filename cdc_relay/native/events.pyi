from collections.abc import Callable, Sequence

from cdc_relay.model import Failure, Headers, Policy, Record, Ticket, Transaction

class EventBuild:
    fallback: Callable[..., object]
    columns: tuple[int, ...]
    can_recall: bool

    def __init__(
        self,
        fallback: Callable[..., object],
        *,
        policy: Policy,
        columns: tuple[int, int, int, int],
        more: Sequence[tuple[str, int]],
        event: tuple[int, ...],
        names: Sequence[str],
        source: bytes,
        content_type: bytes,
        iso_utc: Callable[[int], str],
    ) -> None: ...
    def __call__(
        self, row: tuple[bytes | None, ...], topic: str, transaction: Transaction, ordinal: int, timestamp_ms: int
    ) -> Record | Failure: ...
    def recall(self, ticket: Ticket, key: bytes | None) -> Headers: ...
