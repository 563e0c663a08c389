from collections.abc import Callable, Sequence

from cdc_relay.model import Failure, Headers, Policy, Record, Ticket, Transaction

class EventBuild:
    fallback: Callable[..., object]
    columns: tuple[int, ...]
    can_recall: bool

    def __call__(
        self, row: tuple[bytes | None, ...], topic: str, transaction: Transaction, ordinal: int, timestamp_ms: int
    ) -> Record | Failure: ...

class BinaryEvents(EventBuild):
    def __init__(
        self,
        fallback: Callable[..., object],
        *,
        policy: Policy,
        columns: tuple[int, int, int, int],
        more: Sequence[tuple[str, int]],
        event: tuple[int, ...],
        iso_utc: Callable[[int], str],
        names: Sequence[str],
        source: bytes,
        content_type: bytes,
    ) -> None: ...
    def recall(self, ticket: Ticket) -> Headers: ...

class StructuredEvents(EventBuild):
    def __init__(
        self,
        fallback: Callable[..., object],
        *,
        policy: Policy,
        columns: tuple[int, int, int, int],
        more: Sequence[tuple[str, int]],
        event: tuple[int, ...],
        iso_utc: Callable[[int], str],
        texts: tuple[bytes, bytes, list[bytes], bytes, bytes, bytes],
        header: tuple[str, bytes],
    ) -> None: ...
