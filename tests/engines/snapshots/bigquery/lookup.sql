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
        CASE WHEN `r`.`zip` IN (-7, 1010, 4050, 8001) THEN CAST(`r`.`zip` AS INT64) END AS `c0`
      FROM `people` AS `r`
      WHERE
        NOT `r`.`person` IS NULL
    ) AS `a`
    LEFT JOIN (
      SELECT
        CAST(`t`.`v0` AS INT64) AS `v0`,
        CAST(`t`.`v1` AS STRING) AS `v1`,
        CAST(`t`.`v2` AS INT64) AS `v2`,
        CAST(`t`.`v3` AS DATE) AS `v3`,
        CAST(`t`.`v4` AS BOOL) AS `v4`
      FROM UNNEST([
        STRUCT(
          1010 AS `v0`,
          'east' AS `v1`,
          1 AS `v2`,
          CAST('2000-01-01' AS DATE) AS `v3`,
          TRUE AS `v4`
        ),
        STRUCT(8001 AS `v0`, 'west \'n\' \\' AS `v1`, NULL AS `v2`, NULL AS `v3`, NULL AS `v4`),
        STRUCT(5 AS `v0`, NULL AS `v1`, -7 AS `v2`, CAST('1999-05-05' AS DATE) AS `v3`, FALSE AS `v4`)
      ]) AS `t`
    ) AS `l0`
      ON `l0`.`v0` = `a`.`c0`
  ) AS `a`
) AS `b`
GROUP BY
  `b`.`x0`
