"""The same with Django, in one file: PGHOST=localhost PGDATABASE=orders python django_app.py"""

import os
from decimal import Decimal

import django
from django.conf import settings
from django.db import connection, models, transaction

from cdc_relay.outbox import Event, emit

DATABASE = {
    "ENGINE": "django.db.backends.postgresql",
    "HOST": os.environ.get("PGHOST", ""),
    "PORT": os.environ.get("PGPORT", ""),
    "USER": os.environ.get("PGUSER", ""),
    "NAME": os.environ["PGDATABASE"],
}
settings.configure(DATABASES={"default": DATABASE}, USE_TZ=True)
django.setup()


class Order(models.Model):
    id = models.TextField(primary_key=True)
    total = models.DecimalField(max_digits=12, decimal_places=2)

    class Meta:
        app_label = "shop"
        db_table = "orders"


@transaction.atomic
def place_order(order_id: str, total: Decimal) -> None:
    Order.objects.create(id=order_id, total=total)
    placed = Event(
        aggregatetype="order",
        key=order_id,
        type="OrderPlaced",
        payload={"order": order_id, "total": total},
        headers={"source": "django"},
        correlation_id="request-1",
    )
    emit(connection, placed)


if __name__ == "__main__":
    place_order("django-1", Decimal("99.90"))
