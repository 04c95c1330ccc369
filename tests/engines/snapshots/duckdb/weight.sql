WITH "base" AS NOT MATERIALIZED (
  SELECT
    "r"."person" AS "p",
    CASE WHEN "r"."level" BETWEEN -2 AND 3 THEN CAST("r"."level" AS BIGINT) END AS "c0",
    CASE
      WHEN CAST("r"."salary" AS DOUBLE) BETWEEN 0 AND 1000
      THEN TRY_CAST(FLOOR(CAST("r"."salary" AS DOUBLE) * 100 + 0.5) AS BIGINT)
      WHEN TRY(CAST("r"."salary" AS DOUBLE)) < 0
      THEN CAST(0 AS BIGINT)
      WHEN NOT ISNAN(TRY(CAST("r"."salary" AS DOUBLE)))
      THEN CAST(100000 AS BIGINT)
    END AS "c1"
  FROM "people" AS "r"
  WHERE
    NOT "r"."person" IS NULL
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
    CAST(5120 // (
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
