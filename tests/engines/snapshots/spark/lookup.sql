SELECT
  `b`.`x0` AS `k0`,
  COALESCE(SUM(`b`.`x1`), 0) AS `t0`
FROM (
  SELECT
    `a`.`n0` AS `x0`,
    `a`.`n1` AS `x1`
  FROM (
    SELECT
      `a`.`c0` AS `c0`,
      `l0`.`v1` AS `n0`,
      `l0`.`v2` AS `n1`
    FROM (
      SELECT
        CASE WHEN `r`.`zip` IN (-7, 1010, 4050, 8001) THEN CAST(`r`.`zip` AS BIGINT) END AS `c0`
      FROM `people` AS `r`
      WHERE
        NOT `r`.`person` IS NULL
    ) AS `a`
    LEFT JOIN (
      SELECT
        CAST(`t`.`v0` AS BIGINT) AS `v0`,
        CAST(`t`.`v1` AS STRING) AS `v1`,
        CAST(`t`.`v2` AS BIGINT) AS `v2`,
        CAST(`t`.`v3` AS DATE) AS `v3`,
        CAST(`t`.`v4` AS BOOLEAN) AS `v4`
      FROM VALUES
        (1010, 'east', 1, CAST('2000-01-01' AS DATE), TRUE),
        (8001, 'west \'n\' \\', NULL, NULL, NULL),
        (5, NULL, -7, CAST('1999-05-05' AS DATE), FALSE) AS `t`(`v0`, `v1`, `v2`, `v3`, `v4`)
    ) AS `l0`
      ON `l0`.`v0` = `a`.`c0`
  ) AS `a`
) AS `b`
GROUP BY
  `b`.`x0`
