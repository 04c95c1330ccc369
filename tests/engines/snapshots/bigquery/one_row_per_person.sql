SELECT
  `b`.`c0` AS `k0`,
  COUNT(*) AS `t0`,
  COUNT(`b`.`c1`) AS `t1`,
  COALESCE(SUM(`b`.`c1`), 0) AS `t2`
FROM (
  SELECT
    CASE
      WHEN CAST(`r`.`dept` AS STRING) IN ('clerk', 'nurse', 'O\'Brien "&" söns', 'a\\b', '', '東京', 'Clerk', 'x|y')
      THEN CAST(`r`.`dept` AS STRING)
    END AS `c0`,
    CASE
      WHEN CAST(`r`.`salary` AS FLOAT64) BETWEEN 0 AND 1000
      THEN CAST(FLOOR(CAST(`r`.`salary` AS FLOAT64) * 100 + 0.5) AS INT64)
      WHEN CAST(`r`.`salary` AS FLOAT64) < 0
      THEN CAST(0 AS INT64)
      WHEN NOT IS_NAN(CAST(`r`.`salary` AS FLOAT64))
      THEN CAST(100000 AS INT64)
    END AS `c1`
  FROM `people` AS `r`
) AS `b`
GROUP BY
  `b`.`c0`
