SELECT
  "b"."c0" AS "k0",
  "b"."c1" AS "k1",
  COUNT(*) AS "t0"
FROM (
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
      ROW_NUMBER() OVER (
        PARTITION BY "w"."p"
        ORDER BY "w"."h" NULLS FIRST, "w"."c0" NULLS FIRST, "w"."c1" NULLS FIRST
      ) - RANK() OVER (
        PARTITION BY "w"."p"
        ORDER BY "w"."h" NULLS FIRST, "w"."c0" NULLS FIRST, "w"."c1" NULLS FIRST
      ) AS "q",
      DENSE_RANK() OVER (
        PARTITION BY "w"."p"
        ORDER BY "w"."h" NULLS FIRST, "w"."c0" NULLS FIRST, "w"."c1" NULLS FIRST
      ) AS "d"
    FROM (
      SELECT
        "b"."p" AS "p",
        "b"."c0" AS "c0",
        "b"."c1" AS "c1",
        CAST((
          HASH(XOR(HASH("b"."p", "b"."c0", "b"."c1"), CAST(9391345706673393910 AS UBIGINT))) >> 32
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
          "r"."smoker" AS "c1"
        FROM "people" AS "r"
        WHERE
          NOT "r"."person" IS NULL
      ) AS "b"
    ) AS "w"
  ) AS "v"
  WHERE
    "v"."d" <= 2
) AS "b"
WHERE
  "b"."q" = 0
GROUP BY
  "b"."c0",
  "b"."c1"
