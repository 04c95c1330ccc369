SELECT
  "b"."c0" AS "k0",
  "b"."c1" AS "k1",
  COUNT(*) AS "t0",
  COUNT("b"."c2") AS "t1",
  COALESCE(SUM("b"."c2"), 0) AS "t2"
FROM (
  SELECT
    CASE WHEN "r"."level" BETWEEN -2 AND 3 THEN CAST("r"."level" AS BIGINT) END AS "c0",
    CASE WHEN "r"."zip" IN (-7, 1010, 4050, 8001) THEN CAST("r"."zip" AS BIGINT) END AS "c1",
    CASE
      WHEN "r"."age" < 0
      THEN CAST(0 AS BIGINT)
      WHEN "r"."age" > 120
      THEN CAST(120 AS BIGINT)
      ELSE CAST("r"."age" AS BIGINT)
    END AS "c2"
  FROM "people" AS "r"
) AS "b"
GROUP BY
  "b"."c0",
  "b"."c1"
