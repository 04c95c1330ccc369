WITH "kept0" AS MATERIALIZED (
  SELECT
    "v"."p" AS "p",
    "v"."c0" AS "c0",
    "v"."c1" AS "c1",
    "v"."q" AS "q"
  FROM (
    SELECT
      "w"."p" AS "p",
      "w"."c0" AS "c0",
      "w"."c1" AS "c1",
      ROW_NUMBER() OVER (PARTITION BY "w"."p" ORDER BY "w"."h" NULLS FIRST, "w"."c0" NULLS FIRST) - RANK() OVER (PARTITION BY "w"."p" ORDER BY "w"."h" NULLS FIRST, "w"."c0" NULLS FIRST) AS "q",
      DENSE_RANK() OVER (PARTITION BY "w"."p" ORDER BY "w"."h" NULLS FIRST, "w"."c0" NULLS FIRST) AS "d"
    FROM (
      SELECT
        "b"."p" AS "p",
        "b"."c0" AS "c0",
        "b"."c1" AS "c1",
        CAST((
          HASH(XOR(HASH("b"."p", "b"."c0"), CAST(9391345706673393910 AS UBIGINT))) >> 32
        ) AS UINTEGER) AS "h"
      FROM (
        SELECT
          "r"."person" AS "p",
          CASE
            WHEN (
              CAST("r"."dept" AS TEXT) COLLATE "binary"
            ) IN ('clerk', 'nurse', 'O''Brien "&" söns', 'a\b', '', '東京', 'Clerk', 'x|y')
            THEN (
              CAST("r"."dept" AS TEXT) COLLATE "binary"
            )
          END AS "c0",
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
      ) AS "b"
    ) AS "w"
  ) AS "v"
  WHERE
    "v"."d" <= 2
), "kept1" AS MATERIALIZED (
  SELECT DISTINCT
    "b"."p" AS "p",
    "b"."c0" AS "c0"
  FROM "kept0" AS "b"
  WHERE
    "b"."q" >= 3
)
SELECT
  "u"."k0" AS "k0",
  SUM("u"."t0") AS "t0",
  SUM("u"."t1") AS "t1",
  SUM("u"."t2") AS "t2"
FROM (
  SELECT
    "b"."c0" AS "k0",
    COUNT(*) AS "t0",
    COUNT("b"."c1") AS "t1",
    COALESCE(SUM("b"."c1"), 0) AS "t2"
  FROM "kept0" AS "b"
  GROUP BY
    "b"."c0"
  UNION ALL
  SELECT
    "q"."k0" AS "k0",
    COALESCE(SUM(LEAST("q"."t0", 3) - "q"."t0"), 0) AS "t0",
    COALESCE(SUM(LEAST("q"."t1", 3) - "q"."t1"), 0) AS "t1",
    COALESCE(SUM(LEAST("q"."t2", 300000) - "q"."t2"), 0) AS "t2"
  FROM (
    SELECT
      "b"."c0" AS "k0",
      COUNT(*) AS "t0",
      COUNT("b"."c1") AS "t1",
      COALESCE(SUM("b"."c1"), 0) AS "t2"
    FROM "kept0" AS "b"
    WHERE
      EXISTS(
        SELECT
          1
        FROM "kept1" AS "o"
        WHERE
          "o"."p" = "b"."p" AND "o"."c0" IS NOT DISTINCT FROM "b"."c0"
      )
    GROUP BY
      "b"."p",
      "b"."c0"
  ) AS "q"
  GROUP BY
    "q"."k0"
) AS "u"
GROUP BY
  "u"."k0"
