SELECT
  `b`.`c0` AS `k0`,
  `b`.`c1` AS `k1`,
  COUNT(*) AS `t0`,
  COUNT(`b`.`c2`) AS `t1`,
  COALESCE(SUM(`b`.`c2`), 0) AS `t2`
FROM (
  SELECT
    CASE WHEN `r`.`level` BETWEEN -2 AND 3 THEN CAST(`r`.`level` AS INT64) END AS `c0`,
    CASE WHEN `r`.`zip` IN (-7, 1010, 4050, 8001) THEN CAST(`r`.`zip` AS INT64) END AS `c1`,
    CASE
      WHEN `r`.`age` < 0
      THEN CAST(0 AS INT64)
      WHEN `r`.`age` > 120
      THEN CAST(120 AS INT64)
      ELSE CAST(`r`.`age` AS INT64)
    END AS `c2`
  FROM `people` AS `r`
) AS `b`
GROUP BY
  `b`.`c0`,
  `b`.`c1`
