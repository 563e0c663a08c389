-- A customer of the shop: an order a second. In real life this INSERT is in the transaction that makes the order.
INSERT INTO public.outbox (aggregatetype, aggregateid, type, payload)
SELECT 'order', number::text, 'OrderPlaced', jsonb_build_object('order', number, 'total', '99.90')
  FROM (SELECT 1 + floor(random() * 1000)::int AS number) AS placed
\watch interval=1
