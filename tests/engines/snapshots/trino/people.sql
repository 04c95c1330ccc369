SELECT
  "s"."c0" AS "k0",
  "s"."c1" AS "k1",
  COUNT(*) AS "t0"
FROM (
  SELECT
    "q"."c0" AS "c0",
    "q"."c1" AS "c1",
    ROW_NUMBER() OVER (
      PARTITION BY "q"."p"
      ORDER BY XXHASH64(
        TO_UTF8(
          'k' || '|' || CAST("q"."p" AS VARCHAR) || '|' || COALESCE("q"."c0", '') || '|' || COALESCE(CAST("q"."c1" AS VARCHAR), '')
        )
      ) NULLS FIRST, "q"."c0" NULLS FIRST, "q"."c1" NULLS FIRST
    ) AS "g"
  FROM (
    SELECT
      "b"."p" AS "p",
      "b"."c0" AS "c0",
      "b"."c1" AS "c1"
    FROM (
      SELECT
        "r"."person" AS "p",
        CASE
          WHEN CAST("r"."dept" AS VARCHAR) IN ('clerk', 'nurse', 'O''Brien "&" söns', 'a\b', '', '東京', 'Clerk', 'x|y')
          THEN CAST("r"."dept" AS VARCHAR)
        END AS "c0",
        "r"."smoker" AS "c1"
      FROM "people" AS "r"
      WHERE
        NOT "r"."person" IS NULL
    ) AS "b"
    GROUP BY
      "b"."p",
      "b"."c0",
      "b"."c1"
  ) AS "q"
) AS "s"
WHERE
  "s"."g" <= 2
GROUP BY
  "s"."c0",
  "s"."c1"
