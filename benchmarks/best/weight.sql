WITH t AS (SELECT user_id, g, CASE WHEN x BETWEEN 0.0 AND 1000.0 THEN TRY_CAST(floor(x*100.0+0.5) AS INTEGER) WHEN isnan(x) THEN NULL WHEN x>0 THEN 100000 WHEN x<0 THEN 0 END AS n
      FROM (SELECT user_id, g, try(v) AS x FROM '{path}')),
h AS (SELECT user_id, (1024 * 50) // count(*) AS w FROM t GROUP BY user_id HAVING count(*) > 50)
SELECT g, sum(w), coalesce(sum(w) FILTER (n IS NOT NULL), 0), sum(w * n)
FROM (SELECT g, n, coalesce(w, 1024) AS w FROM t LEFT JOIN h ON h.user_id IS NOT DISTINCT FROM t.user_id) GROUP BY g
