SELECT
  "b"."x0" AS "k0",
  COALESCE(SUM("b"."x1"), 0) AS "t0",
  COALESCE(SUM("b"."x2"), 0) AS "t1",
  COALESCE(SUM("b"."x3"), 0) AS "t2"
FROM (
  SELECT
    (
      "a"."c0" / 10
    ) AS "x0",
    (
      "a"."c1" * 1000
    ) / (
      NULLIF("a"."c0", 0)
    ) - CASE
      WHEN (
        "a"."c1" * 1000
      ) % (
        NULLIF("a"."c0", 0)
      ) <> 0
      AND (
        "a"."c1" < 0
      ) <> (
        "a"."c0" < 0
      )
      THEN 1
      ELSE 0
    END AS "x1",
    (
      (
        "a"."c2" - "a"."c1" * 500 + 50
      ) + 5000
    ) / 100 - 50 AS "x2",
    CASE
      WHEN "a"."c3"
      THEN ABS("a"."c1") * 5
      ELSE LEAST("a"."c0", CAST(9 AS BIGINT))
    END AS "x3"
  FROM (
    SELECT
      CASE
        WHEN "r"."c0" < 0
        THEN CAST(0 AS BIGINT)
        WHEN "r"."c0" > 120
        THEN CAST(120 AS BIGINT)
        ELSE CAST("r"."c0" AS BIGINT)
      END AS "c0",
      CASE
        WHEN "r"."c1" BETWEEN -50 AND 50
        THEN CAST(FLOOR("r"."c1" / 5 + 0.5) AS BIGINT)
        WHEN "r"."c1" < -50
        THEN CAST(-10 AS BIGINT)
        WHEN NOT "r"."c1" = 'NaN'
        THEN CAST(10 AS BIGINT)
      END AS "c1",
      CASE
        WHEN "r"."c2" BETWEEN 0 AND 1000
        THEN CAST(FLOOR("r"."c2" * 100 + 0.5) AS BIGINT)
        WHEN "r"."c2" < 0
        THEN CAST(0 AS BIGINT)
        WHEN NOT "r"."c2" = 'NaN'
        THEN CAST(100000 AS BIGINT)
      END AS "c2",
      "r"."c3" AS "c3",
      "r"."c4" AS "c4",
      CASE WHEN "r"."c5" IN (-7, 1010, 4050, 8001) THEN CAST("r"."c5" AS BIGINT) END AS "c5"
    FROM (
      SELECT
        "r"."age" AS "c0",
        CASE
          WHEN "r"."bonus" = 'NaN'
          THEN CAST('NaN' AS DOUBLE PRECISION)
          WHEN "r"."bonus" > 1e200
          THEN CAST('Infinity' AS DOUBLE PRECISION)
          WHEN "r"."bonus" < -1e200
          THEN CAST('-Infinity' AS DOUBLE PRECISION)
          WHEN "r"."bonus" > 0 AND "r"."bonus" < 1e-100
          THEN CAST('1e-100' AS DOUBLE PRECISION)
          WHEN "r"."bonus" > -1e-100 AND "r"."bonus" < 0
          THEN CAST('-1e-100' AS DOUBLE PRECISION)
          ELSE CAST("r"."bonus" AS DOUBLE PRECISION)
        END AS "c1",
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
        END AS "c2",
        "r"."smoker" AS "c3",
        (
          CAST("r"."note" AS TEXT) COLLATE "C"
        ) AS "c4",
        "r"."zip" AS "c5"
      FROM "people" AS "r"
      WHERE
        NOT "r"."person" IS NULL
    ) AS "r"
  ) AS "a"
  WHERE
    (
      "a"."c4" LIKE CAST('a%''_' AS TEXT) COLLATE "C"
    )
    OR (
      NOT (
        "a"."c5" IN (1010)
      )
    )
) AS "b"
GROUP BY
  "b"."x0"
