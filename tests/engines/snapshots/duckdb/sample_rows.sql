WITH "base" AS NOT MATERIALIZED (
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
  FROM "base" AS "b"
  GROUP BY
    "b"."c0"
  UNION ALL
  SELECT
    "s"."c0" AS "k0",
    -COUNT(*) AS "t0",
    -COUNT("s"."c1") AS "t1",
    -COALESCE(SUM("s"."c1"), 0) AS "t2"
  FROM (
    SELECT
      "b"."c0" AS "c0",
      "b"."c1" AS "c1",
      ROW_NUMBER() OVER (
        PARTITION BY "b"."p", "b"."c0"
        ORDER BY CAST((
          HASH(XOR(HASH("b"."p", "b"."c0", "b"."c1"), CAST(9391345706673393910 AS UBIGINT))) >> 32
        ) AS UINTEGER) NULLS FIRST, "b"."c1" NULLS FIRST
      ) AS "i"
    FROM "base" AS "b"
    WHERE
      EXISTS(
        SELECT
          1
        FROM (
          SELECT
            "b"."p" AS "p"
          FROM "base" AS "b"
          GROUP BY
            "b"."p"
          HAVING
            COUNT(*) - BIT_COUNT(BIT_OR(CAST(1 AS UBIGINT) << CAST((
              HASH("b"."c0") >> 58
            ) AS UTINYINT))) >= 3
        ) AS "o"
        WHERE
          "o"."p" = "b"."p"
      )
  ) AS "s"
  WHERE
    "s"."i" > 3
  GROUP BY
    "s"."c0"
) AS "u"
GROUP BY
  "u"."k0"
