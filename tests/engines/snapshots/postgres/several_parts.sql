WITH "base" AS (
  SELECT
    "r"."p" AS "p",
    CASE
      WHEN "r"."c0" IN ('clerk', 'nurse', 'O''Brien "&" söns', 'a\b', '', '東京', 'Clerk', 'x|y')
      THEN "r"."c0"
    END AS "c0",
    CASE
      WHEN "r"."c1" < CAST('2019-12-30 00:00:00' AS TIMESTAMP)
      THEN CAST('2019-12-30' AS DATE)
      WHEN "r"."c1" >= CAST('2021-01-04 00:00:00' AS TIMESTAMP)
      THEN CAST('2021-01-03' AS DATE)
      ELSE CAST("r"."c1" AS DATE)
    END AS "c1",
    CASE
      WHEN "r"."c2" BETWEEN 0 AND 1000
      THEN CAST(FLOOR("r"."c2" * 100 + 0.5) AS BIGINT)
      WHEN "r"."c2" < 0
      THEN CAST(0 AS BIGINT)
      WHEN NOT "r"."c2" = 'NaN'
      THEN CAST(100000 AS BIGINT)
    END AS "c2"
  FROM (
    SELECT
      "r"."person" AS "p",
      (
        CAST("r"."dept" AS TEXT) COLLATE "C"
      ) AS "c0",
      "r"."seen" AS "c1",
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
      END AS "c2"
    FROM "people" AS "r"
    WHERE
      NOT "r"."person" IS NULL
  ) AS "r"
)
SELECT
  0 AS "part",
  CAST(NULL AS BIGINT) AS "number0",
  CAST(NULL AS TEXT) AS "text0",
  CAST(NULL AS DATE) AS "day0",
  CAST(COUNT(*) AS DECIMAL) AS "t0",
  CAST(NULL AS DECIMAL) AS "t1",
  CAST(NULL AS DECIMAL) AS "t2"
FROM "base" AS "b"
UNION ALL
SELECT
  1 AS "part",
  CAST(NULL AS BIGINT) AS "number0",
  "b"."c0" AS "text0",
  "b"."c1" AS "day0",
  CAST(COUNT(*) AS DECIMAL) AS "t0",
  CAST(COUNT("b"."c2") AS DECIMAL) AS "t1",
  CAST(COALESCE(SUM("b"."c2"), 0) AS DECIMAL) AS "t2"
FROM "base" AS "b"
GROUP BY
  "b"."c0",
  "b"."c1"
UNION ALL
SELECT
  2 AS "part",
  "s"."k" AS "number0",
  CAST(NULL AS TEXT) AS "text0",
  CAST(NULL AS DATE) AS "day0",
  CAST(COUNT(*) AS DECIMAL) AS "t0",
  CAST(NULL AS DECIMAL) AS "t1",
  CAST(NULL AS DECIMAL) AS "t2"
FROM (
  SELECT
    CAST(CASE WHEN COUNT(*) <= 1 THEN 0 WHEN COUNT(*) <= 10 THEN 1 ELSE 2 END AS BIGINT) AS "k"
  FROM "base" AS "b"
  GROUP BY
    "b"."p"
) AS "s"
GROUP BY
  "s"."k"
