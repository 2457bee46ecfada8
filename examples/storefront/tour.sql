-- One customer: everything about a customer lies on one shard, so the statement goes there as it is.
SELECT o.id, o.status, o.total, count(i.line) AS lines
FROM orders o
JOIN items i ON i.customer_id = o.customer_id AND i.order_id = o.id
WHERE o.customer_id = 32
GROUP BY o.id, o.status, o.total
ORDER BY o.id
LIMIT 5;

-- All customers: every shard sorts its own orders, the router merges them and stops after five.
SELECT id, customer_id, total, placed_at
FROM orders
ORDER BY total DESC, id
LIMIT 5;

-- Counting: every shard counts, the router adds.
SELECT currency_code, count(*) AS orders, sum(total) AS value
FROM orders
GROUP BY currency_code
ORDER BY currency_code;

-- A reference table is on every shard, so joining it needs no traffic between them.
SELECT k.region, count(*) AS customers
FROM customers c
JOIN countries k ON k.code = c.country_code
GROUP BY k.region
ORDER BY k.region NULLS LAST;

-- A key may be an expression: products lie by lower(sku), however the sku is written.
SELECT p.title, w.warehouse, w.quantity
FROM products p
JOIN inventory w ON lower(w.sku) = lower(p.sku)
WHERE lower(p.sku) = 'ef-1042'
ORDER BY w.warehouse;

-- A write to one shard is an ordinary commit there.
UPDATE customers SET vip = true WHERE id = 32;

-- A write over two shards commits on both or on none: customer 32 lives on one, 42 on the other.
BEGIN;
UPDATE customers SET vip = true WHERE id = 32;
UPDATE customers SET vip = true WHERE id = 42;
COMMIT;

-- What one PostgreSQL would answer and we can't yet is refused, before anything has happened.
SELECT i.sku, p.title
FROM items i
JOIN products p ON lower(p.sku) = lower(i.sku)
LIMIT 5;
