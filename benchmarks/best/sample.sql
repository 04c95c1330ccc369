WITH t AS (SELECT user_id, g, CASE WHEN x BETWEEN 0.0 AND 1000.0 THEN TRY_CAST(floor(x*100.0+0.5) AS INTEGER) WHEN isnan(x) THEN NULL WHEN x>0 THEN 100000 WHEN x<0 THEN 0 END AS n
      FROM (SELECT user_id, g, try(v) AS x FROM '{path}')),
r AS MATERIALIZED (   -- rows of the 5 first groups of each person; q = position of the row in its pair, from 0
  SELECT user_id, g, n, q FROM (
    SELECT user_id, g, n, dense_rank() OVER w AS d, row_number() OVER w - rank() OVER w AS q
    FROM t WINDOW w AS (PARTITION BY user_id ORDER BY (hash(xor(hash(user_id, g), 20240607::UBIGINT)) >> 32)::UINTEGER, g))
  WHERE d <= 5),
o AS MATERIALIZED (SELECT DISTINCT user_id, g FROM r WHERE q >= 10)   -- pairs with more than 10 rows
, k AS (
  SELECT g, n FROM r WHERE NOT EXISTS (FROM o WHERE o.user_id IS NOT DISTINCT FROM r.user_id AND o.g IS NOT DISTINCT FROM r.g)
  UNION ALL
  SELECT g, n FROM (SELECT g, n, row_number() OVER (PARTITION BY user_id, g ORDER BY hash(xor(hash(user_id, g, n), 20240607::UBIGINT)), n) AS i
                    FROM r WHERE EXISTS (FROM o WHERE o.user_id IS NOT DISTINCT FROM r.user_id AND o.g IS NOT DISTINCT FROM r.g)) WHERE i <= 10)
SELECT g, count(*), count(n), sum(n) FROM k GROUP BY g
