WITH "base" AS (
  SELECT
    "r"."p" AS "p",
    CASE WHEN "r"."c0" BETWEEN -2 AND 3 THEN CAST("r"."c0" AS BIGINT) END AS "c0",
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
      "r"."person" AS "p",
      "r"."level" AS "c0",
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
    WHERE
      NOT "r"."person" IS NULL
  ) AS "r"
)
SELECT
  "b"."c0" AS "k0",
  COALESCE(SUM(COALESCE("h"."w", 1024)), 0) AS "t0",
  COALESCE(SUM(CASE WHEN NOT "b"."c1" IS NULL THEN COALESCE("h"."w", 1024) END), 0) AS "t1",
  COALESCE(SUM(COALESCE("h"."w", 1024) * "b"."c1"), 0) AS "t2"
FROM "base" AS "b"
LEFT JOIN (
  SELECT
    "b"."p" AS "p",
    CAST(5120 / (
      COUNT(*)
    ) AS BIGINT) AS "w"
  FROM "base" AS "b"
  GROUP BY
    "b"."p"
  HAVING
    COUNT(*) > 5
) AS "h"
  ON "h"."p" = "b"."p"
GROUP BY
  "b"."c0"
