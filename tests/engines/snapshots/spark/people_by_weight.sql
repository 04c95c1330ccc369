SELECT
  `s`.`k0` AS `k0`,
  COALESCE(
    SUM(
      CASE
        WHEN `s`.`r` <= 2
        THEN CAST(1024 AS BIGINT)
        ELSE CAST(2048 DIV `s`.`r` AS BIGINT)
      END
    ),
    0
  ) AS `t0`
FROM (
  SELECT
    `q`.`c0` AS `k0`,
    COUNT(*) OVER (PARTITION BY `q`.`p`) AS `r`
  FROM (
    SELECT
      `b`.`p` AS `p`,
      `b`.`c0` AS `c0`
    FROM (
      SELECT
        `r`.`person` AS `p`,
        CAST(`r`.`note` AS STRING) AS `c0`
      FROM `people` AS `r`
      WHERE
        NOT `r`.`person` IS NULL
    ) AS `b`
    GROUP BY
      `b`.`p`,
      `b`.`c0`
  ) AS `q`
) AS `s`
GROUP BY
  `s`.`k0`
