"""The same with SQLAlchemy 2: python sqlalchemy_session.py 'postgresql+psycopg://localhost/orders'"""

import sys
from decimal import Decimal

from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from cdc_relay.outbox import Event, emit


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"

    id: Mapped[str] = mapped_column(primary_key=True)
    total: Mapped[Decimal]


def place_order(session: Session, order_id: str, total: Decimal) -> None:
    session.add(Order(id=order_id, total=total))
    placed = Event(
        aggregatetype="order",
        key=order_id,
        type="OrderPlaced",
        payload={"order": order_id, "total": total},
        headers={"source": "sqlalchemy"},
        correlation_id="request-1",
    )
    emit(session, placed)


def main(url: str) -> None:
    with Session(create_engine(url)) as session, session.begin():
        place_order(session, "sqlalchemy-1", Decimal("99.90"))


if __name__ == "__main__":
    main(sys.argv[1])
