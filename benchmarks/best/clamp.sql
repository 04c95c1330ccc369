WITH t AS (SELECT user_id, g, CASE WHEN x BETWEEN 0.0 AND 1000.0 THEN TRY_CAST(floor(x*100.0+0.5) AS INTEGER) WHEN isnan(x) THEN NULL WHEN x>0 THEN 100000 WHEN x<0 THEN 0 END AS n
      FROM (SELECT user_id, g, try(v) AS x FROM '{path}')),
r AS MATERIALIZED (   -- rows of the 5 first groups of each person; q = position of the row in its pair, from 0
  SELECT user_id, g, n, q FROM (
    SELECT user_id, g, n, dense_rank() OVER w AS d, row_number() OVER w - rank() OVER w AS q
    FROM t WINDOW w AS (PARTITION BY user_id ORDER BY (hash(xor(hash(user_id, g), 20240607::UBIGINT)) >> 32)::UINTEGER, g))
  WHERE d <= 5),
o AS MATERIALIZED (SELECT DISTINCT user_id, g FROM r WHERE q >= 10)   -- pairs with more than 10 rows
, k AS (
  SELECT g, 1 AS c, (n IS NOT NULL)::INTEGER AS cn, n AS s FROM r WHERE NOT EXISTS (FROM o WHERE o.user_id IS NOT DISTINCT FROM r.user_id AND o.g IS NOT DISTINCT FROM r.g)
  UNION ALL
  SELECT g, least(count(*), 10)::INTEGER, least(count(n), 10)::INTEGER, CASE WHEN count(n) > 0 THEN least(greatest(sum(n), 0), 1000000) END::INTEGER
  FROM r WHERE EXISTS (FROM o WHERE o.user_id IS NOT DISTINCT FROM r.user_id AND o.g IS NOT DISTINCT FROM r.g) GROUP BY user_id, g)
SELECT g, sum(c), sum(cn), sum(s) FROM k GROUP BY g
