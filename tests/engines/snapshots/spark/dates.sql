SELECT
  `b`.`x0` AS `k0`,
  `b`.`x1` AS `k1`,
  COALESCE(SUM(`b`.`x2`), 0) AS `t0`
FROM (
  SELECT
    TRUNC(`a`.`c0`, 'MONTH') AS `x0`,
    CAST((
      DAYOFWEEK(`a`.`c1`) - 1
    ) AS BIGINT) AS `x1`,
    CAST(DATEDIFF(`a`.`c0`, `a`.`c1`) AS BIGINT) AS `x2`
  FROM (
    SELECT
      CASE
        WHEN `r`.`seen` < CAST('2019-12-30 00:00:00' AS TIMESTAMP)
        THEN CAST('2019-12-30' AS DATE)
        WHEN `r`.`seen` >= CAST('2021-01-04 00:00:00' AS TIMESTAMP)
        THEN CAST('2021-01-03' AS DATE)
        ELSE CAST(`r`.`seen` AS DATE)
      END AS `c0`,
      CASE
        WHEN `r`.`born` < CAST('1950-01-01' AS DATE)
        THEN CAST('1950-01-01' AS DATE)
        WHEN `r`.`born` > CAST('2010-12-31' AS DATE)
        THEN CAST('2010-12-31' AS DATE)
        ELSE `r`.`born`
      END AS `c1`
    FROM `people` AS `r`
    WHERE
      NOT `r`.`person` IS NULL
  ) AS `a`
  WHERE
    `a`.`c1` < CAST('1990-01-01' AS DATE)
) AS `b`
GROUP BY
  `b`.`x0`,
  `b`.`x1`
