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
      ORDER BY HASHTEXTEXTENDED(
        (
          CAST("b"."p" AS TEXT) COLLATE "C"
        ) || '|' || COALESCE("b"."c0", CAST('' AS TEXT) COLLATE "C") || '|' || COALESCE((
          CAST("b"."c1" AS TEXT) COLLATE "C"
        ), CAST('' AS TEXT) COLLATE "C"),
        -9055398367036157706
      ) NULLS FIRST, "b"."c1" NULLS FIRST
    ) AS "i",
    DENSE_RANK() OVER (
      PARTITION BY "b"."p"
      ORDER BY HASHTEXTEXTENDED(
        (
          CAST("b"."p" AS TEXT) COLLATE "C"
        ) || '|' || COALESCE("b"."c0", CAST('' AS TEXT) COLLATE "C"),
        -9055398367036157706
      ) NULLS FIRST, "b"."c0" NULLS FIRST
    ) AS "g"
  FROM (
    SELECT
      "r"."p" AS "p",
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
        "r"."person" AS "p",
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
      WHERE
        NOT "r"."person" IS NULL
    ) AS "r"
  ) AS "b"
) AS "s"
WHERE
  "s"."i" <= 3 AND "s"."g" <= 2
GROUP BY
  "s"."c0"
