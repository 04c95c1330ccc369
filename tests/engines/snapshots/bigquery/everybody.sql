SELECT
  COUNT(*) AS `t0`,
  COALESCE(SUM((
    `b`.`x0` - 60
  ) * (
    `b`.`x0` - 60
  )), 0) AS `t1`,
  COUNT(CASE WHEN `b`.`x1` THEN 1 END) AS `t2`
FROM (
  SELECT
    `a`.`c0` AS `x0`,
    `a`.`c1` AS `x1`
  FROM (
    SELECT
      CASE
        WHEN `r`.`age` < 0
        THEN CAST(0 AS INT64)
        WHEN `r`.`age` > 120
        THEN CAST(120 AS INT64)
        ELSE CAST(`r`.`age` AS INT64)
      END AS `c0`,
      `r`.`smoker` AS `c1`
    FROM `people` AS `r`
    WHERE
      NOT `r`.`person` IS NULL
  ) AS `a`
  WHERE
    `a`.`c0` >= 18
) AS `b`
