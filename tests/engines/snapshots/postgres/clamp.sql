SELECT
  "s"."c0" AS "k0",
  COALESCE(SUM("s"."t0"), 0) AS "t0",
  COALESCE(SUM("s"."t1"), 0) AS "t1",
  COALESCE(SUM("s"."t2"), 0) AS "t2"
FROM (
  SELECT
    "q"."c0" AS "c0",
    "q"."t0" AS "t0",
    "q"."t1" AS "t1",
    "q"."t2" AS "t2",
    ROW_NUMBER() OVER (
      PARTITION BY "q"."p"
      ORDER BY HASHTEXTEXTENDED(
        (
          CAST("q"."p" AS TEXT) COLLATE "C"
        ) || '|' || COALESCE("q"."c0", CAST('' AS TEXT) COLLATE "C"),
        -9055398367036157706
      ) NULLS FIRST, "q"."c0" NULLS FIRST
    ) AS "g"
  FROM (
    SELECT
      "b"."p" AS "p",
      "b"."c0" AS "c0",
      CAST(LEAST(COUNT(*), 3) AS BIGINT) AS "t0",
      CAST(LEAST(COUNT("b"."c1"), 3) AS BIGINT) AS "t1",
      CAST(LEAST(COALESCE(SUM("b"."c1"), 0), 300000) AS BIGINT) AS "t2"
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
    GROUP BY
      "b"."p",
      "b"."c0"
  ) AS "q"
) AS "s"
WHERE
  "s"."g" <= 2
GROUP BY
  "s"."c0"
