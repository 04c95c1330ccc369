SELECT
  "s"."c0" AS "k0",
  COUNT(*) AS "t0",
  COUNT("s"."c1") AS "t1",
  COALESCE(SUM("s"."c1"), 0) AS "t2"
FROM (
  SELECT
    "b"."c0" AS "c0",
    "b"."c1" AS "c1",
    ROW_NUMBER() OVER (
      PARTITION BY "b"."p", "b"."c0"
      ORDER BY XXHASH64(
        TO_UTF8(
          'k' || '|' || CAST("b"."p" AS VARCHAR) || '|' || COALESCE("b"."c0", '') || '|' || COALESCE(CAST("b"."c1" AS VARCHAR), '')
        )
      ) NULLS FIRST, "b"."c1" NULLS FIRST
    ) AS "i",
    DENSE_RANK() OVER (
      PARTITION BY "b"."p"
      ORDER BY XXHASH64(TO_UTF8('k' || '|' || CAST("b"."p" AS VARCHAR) || '|' || COALESCE("b"."c0", ''))) NULLS FIRST, "b"."c0" NULLS FIRST
    ) AS "g"
  FROM (
    SELECT
      "r"."person" AS "p",
      CASE
        WHEN CAST("r"."dept" AS VARCHAR) IN ('clerk', 'nurse', 'O''Brien "&" söns', 'a\b', '', '東京', 'Clerk', 'x|y')
        THEN CAST("r"."dept" AS VARCHAR)
      END AS "c0",
      CASE
        WHEN CAST("r"."salary" AS DOUBLE) BETWEEN 0 AND 1000
        THEN CAST(FLOOR(CAST("r"."salary" AS DOUBLE) * 100 + 0.5) AS BIGINT)
        WHEN CAST("r"."salary" AS DOUBLE) < 0
        THEN CAST(0 AS BIGINT)
        WHEN NOT IS_NAN(CAST("r"."salary" AS DOUBLE))
        THEN CAST(100000 AS BIGINT)
      END AS "c1"
    FROM "people" AS "r"
    WHERE
      NOT "r"."person" IS NULL
  ) AS "b"
) AS "s"
WHERE
  "s"."i" <= 3 AND "s"."g" <= 2
GROUP BY
  "s"."c0"
