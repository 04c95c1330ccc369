SELECT
  "b"."c0" AS "k0",
  COUNT(*) AS "t0",
  COUNT("b"."c1") AS "t1",
  COALESCE(SUM("b"."c1"), 0) AS "t2"
FROM (
  SELECT
    CASE
      WHEN "r"."c0" IN ('clerk', 'nurse', 'O''Brien "&" söns', 'a\b', '', '東京', 'Clerk', 'x|y')
      THEN "r"."c0"
    END AS "c0",
    CASE
      WHEN "r"."c1" BETWEEN 0 AND 1000
      THEN CAST(FLOOR("r"."c1" * 100 + 0.5) AS BIGINT)
      WHEN "r"."c1" < 0
      THEN CAST(0 AS BIGINT)
      WHEN NOT "r"."c1" = 'NaN'
      THEN CAST(100000 AS BIGINT)
    END AS "c1"
  FROM (
    SELECT
      (
        CAST("r"."dept" AS TEXT) COLLATE "C"
      ) AS "c0",
      CASE
        WHEN "r"."salary" = 'NaN'
        THEN CAST('NaN' AS DOUBLE PRECISION)
        WHEN "r"."salary" > 1e200
        THEN CAST('Infinity' AS DOUBLE PRECISION)
        WHEN "r"."salary" < -1e200
        THEN CAST('-Infinity' AS DOUBLE PRECISION)
        WHEN "r"."salary" > 0 AND "r"."salary" < 1e-100
        THEN CAST('1e-100' AS DOUBLE PRECISION)
        WHEN "r"."salary" > -1e-100 AND "r"."salary" < 0
        THEN CAST('-1e-100' AS DOUBLE PRECISION)
        ELSE CAST("r"."salary" AS DOUBLE PRECISION)
      END AS "c1"
    FROM "people" AS "r"
  ) AS "r"
) AS "b"
GROUP BY
  "b"."c0"
