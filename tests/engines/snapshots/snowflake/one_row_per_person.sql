SELECT
  "b"."c0" AS "k0",
  COUNT(*) AS "t0",
  COUNT("b"."c1") AS "t1",
  COALESCE(SUM("b"."c1"), 0) AS "t2"
FROM (
  SELECT
    CASE
      WHEN CAST("r"."dept" AS VARCHAR) IN ('clerk', 'nurse', 'O\'Brien "&" söns', 'a\\b', '', '東京', 'Clerk', 'x|y')
      THEN CAST("r"."dept" AS VARCHAR)
    END AS "c0",
    CASE
      WHEN CAST("r"."salary" AS DOUBLE) BETWEEN 0 AND 1000
      THEN CAST(FLOOR(CAST("r"."salary" AS DOUBLE) * 100 + 0.5) AS BIGINT)
      WHEN CAST("r"."salary" AS DOUBLE) < 0
      THEN CAST(0 AS BIGINT)
      WHEN NOT CAST("r"."salary" AS DOUBLE) = CAST('NaN' AS DOUBLE)
      THEN CAST(100000 AS BIGINT)
    END AS "c1"
  FROM "people" AS "r"
) AS "b"
GROUP BY
  "b"."c0"
