WITH "kept0" AS MATERIALIZED (
  SELECT
    "w"."p" AS "p",
    "w"."c0" AS "c0",
    COUNT(*) OVER (PARTITION BY "w"."p") AS "c",
    ROW_NUMBER() OVER (PARTITION BY "w"."p" ORDER BY "w"."c0" NULLS FIRST) - RANK() OVER (PARTITION BY "w"."p" ORDER BY "w"."c0" NULLS FIRST) AS "q"
  FROM (
    SELECT
      "b"."p" AS "p",
      "b"."c0" AS "c0"
    FROM (
      SELECT
        "r"."person" AS "p",
        (
          CAST("r"."note" AS TEXT) COLLATE "binary"
        ) AS "c0"
      FROM "people" AS "r"
      WHERE
        NOT "r"."person" IS NULL
    ) AS "b"
  ) AS "w"
)
SELECT
  "b"."c0" AS "k0",
  COALESCE(
    SUM(
      CASE
        WHEN (
          "b"."c" - COALESCE("h"."n", 0)
        ) <= 2
        THEN CAST(1024 AS BIGINT)
        ELSE CAST(2048 // (
          "b"."c" - COALESCE("h"."n", 0)
        ) AS BIGINT)
      END
    ),
    0
  ) AS "t0"
FROM "kept0" AS "b"
LEFT JOIN (
  SELECT
    "b"."p" AS "p",
    COUNT(*) AS "n"
  FROM "kept0" AS "b"
  WHERE
    "b"."q" > 0
  GROUP BY
    "b"."p"
) AS "h"
  ON "h"."p" = "b"."p"
WHERE
  "b"."q" = 0
GROUP BY
  "b"."c0"
