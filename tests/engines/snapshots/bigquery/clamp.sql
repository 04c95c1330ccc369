SELECT
  `s`.`c0` AS `k0`,
  COALESCE(SUM(`s`.`t0`), 0) AS `t0`,
  COALESCE(SUM(`s`.`t1`), 0) AS `t1`,
  COALESCE(SUM(`s`.`t2`), 0) AS `t2`
FROM (
  SELECT
    `q`.`c0` AS `c0`,
    `q`.`t0` AS `t0`,
    `q`.`t1` AS `t1`,
    `q`.`t2` AS `t2`,
    ROW_NUMBER() OVER (
      PARTITION BY `q`.`p`
      ORDER BY FARM_FINGERPRINT('k' || '|' || CAST(`q`.`p` AS STRING) || '|' || COALESCE(`q`.`c0`, '')), `q`.`c0`
    ) AS `g`
  FROM (
    SELECT
      `b`.`p` AS `p`,
      `b`.`c0` AS `c0`,
      CAST(LEAST(COALESCE(COUNT(*), 3), COALESCE(3, COUNT(*))) AS INT64) AS `t0`,
      CAST(LEAST(COALESCE(COUNT(`b`.`c1`), 3), COALESCE(3, COUNT(`b`.`c1`))) AS INT64) AS `t1`,
      CAST(LEAST(
        COALESCE(COALESCE(SUM(`b`.`c1`), 0), 300000),
        COALESCE(300000, COALESCE(SUM(`b`.`c1`), 0))
      ) AS INT64) AS `t2`
    FROM (
      SELECT
        `r`.`person` AS `p`,
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
      WHERE
        NOT `r`.`person` IS NULL
    ) AS `b`
    GROUP BY
      `b`.`p`,
      `b`.`c0`
  ) AS `q`
) AS `s`
WHERE
  `s`.`g` <= 2
GROUP BY
  `s`.`c0`
