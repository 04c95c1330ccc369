WITH `base` AS (
  SELECT
    `r`.`person` AS `p`,
    CASE
      WHEN CAST(`r`.`dept` AS STRING) IN ('clerk', 'nurse', 'O\'Brien "&" söns', 'a\\b', '', '東京', 'Clerk', 'x|y')
      THEN CAST(`r`.`dept` AS STRING)
    END AS `c0`,
    CASE
      WHEN `r`.`seen` < CAST('2019-12-30 00:00:00' AS TIMESTAMP)
      THEN CAST('2019-12-30' AS DATE)
      WHEN `r`.`seen` >= CAST('2021-01-04 00:00:00' AS TIMESTAMP)
      THEN CAST('2021-01-03' AS DATE)
      ELSE CAST(`r`.`seen` AS DATE)
    END AS `c1`,
    CASE
      WHEN CAST(`r`.`salary` AS DOUBLE) BETWEEN 0 AND 1000
      THEN CAST(FLOOR(CAST(`r`.`salary` AS DOUBLE) * 100 + 0.5) AS BIGINT)
      WHEN CAST(`r`.`salary` AS DOUBLE) < 0
      THEN CAST(0 AS BIGINT)
      WHEN NOT CAST(`r`.`salary` AS DOUBLE) = CAST('NaN' AS DOUBLE)
      THEN CAST(100000 AS BIGINT)
    END AS `c2`
  FROM `people` AS `r`
  WHERE
    NOT `r`.`person` IS NULL
)
SELECT
  0 AS `part`,
  CAST(NULL AS BIGINT) AS `number0`,
  CAST(NULL AS STRING) AS `text0`,
  CAST(NULL AS DATE) AS `day0`,
  CAST(COUNT(*) AS DECIMAL(38, 0)) AS `t0`,
  CAST(NULL AS DECIMAL(38, 0)) AS `t1`,
  CAST(NULL AS DECIMAL(38, 0)) AS `t2`
FROM `base` AS `b`
UNION ALL
SELECT
  1 AS `part`,
  CAST(NULL AS BIGINT) AS `number0`,
  `b`.`c0` AS `text0`,
  `b`.`c1` AS `day0`,
  CAST(COUNT(*) AS DECIMAL(38, 0)) AS `t0`,
  CAST(COUNT(`b`.`c2`) AS DECIMAL(38, 0)) AS `t1`,
  CAST(COALESCE(SUM(`b`.`c2`), 0) AS DECIMAL(38, 0)) AS `t2`
FROM `base` AS `b`
GROUP BY
  `b`.`c0`,
  `b`.`c1`
UNION ALL
SELECT
  2 AS `part`,
  `s`.`k` AS `number0`,
  CAST(NULL AS STRING) AS `text0`,
  CAST(NULL AS DATE) AS `day0`,
  CAST(COUNT(*) AS DECIMAL(38, 0)) AS `t0`,
  CAST(NULL AS DECIMAL(38, 0)) AS `t1`,
  CAST(NULL AS DECIMAL(38, 0)) AS `t2`
FROM (
  SELECT
    CAST(CASE WHEN COUNT(*) <= 1 THEN 0 WHEN COUNT(*) <= 10 THEN 1 ELSE 2 END AS BIGINT) AS `k`
  FROM `base` AS `b`
  GROUP BY
    `b`.`p`
) AS `s`
GROUP BY
  `s`.`k`
