SELECT
  `b`.`x0` AS `k0`,
  COALESCE(SUM(`b`.`x1`), 0) AS `t0`,
  COALESCE(SUM(`b`.`x2`), 0) AS `t1`,
  COALESCE(SUM(`b`.`x3`), 0) AS `t2`
FROM (
  SELECT
    (
      DIV(`a`.`c0`, 10)
    ) AS `x0`,
    DIV((
      `a`.`c1` * 1000
    ), (
      NULLIF(`a`.`c0`, 0)
    )) - CASE
      WHEN MOD(`a`.`c1` * 1000, NULLIF(`a`.`c0`, 0)) <> 0
      AND (
        `a`.`c1` < 0
      ) <> (
        `a`.`c0` < 0
      )
      THEN 1
      ELSE 0
    END AS `x1`,
    DIV((
      (
        `a`.`c2` - `a`.`c1` * 500 + 50
      ) + 5000
    ), 100) - 50 AS `x2`,
    CASE
      WHEN `a`.`c3`
      THEN ABS(`a`.`c1`) * 5
      ELSE LEAST(COALESCE(`a`.`c0`, CAST(9 AS INT64)), COALESCE(CAST(9 AS INT64), `a`.`c0`))
    END AS `x3`
  FROM (
    SELECT
      CASE
        WHEN `r`.`age` < 0
        THEN CAST(0 AS INT64)
        WHEN `r`.`age` > 120
        THEN CAST(120 AS INT64)
        ELSE CAST(`r`.`age` AS INT64)
      END AS `c0`,
      CASE
        WHEN CAST(`r`.`bonus` AS FLOAT64) BETWEEN -50 AND 50
        THEN CAST(FLOOR(CAST(`r`.`bonus` AS FLOAT64) / 5 + 0.5) AS INT64)
        WHEN CAST(`r`.`bonus` AS FLOAT64) < -50
        THEN CAST(-10 AS INT64)
        WHEN NOT IS_NAN(CAST(`r`.`bonus` AS FLOAT64))
        THEN CAST(10 AS INT64)
      END AS `c1`,
      CASE
        WHEN CAST(`r`.`salary` AS FLOAT64) BETWEEN 0 AND 1000
        THEN CAST(FLOOR(CAST(`r`.`salary` AS FLOAT64) * 100 + 0.5) AS INT64)
        WHEN CAST(`r`.`salary` AS FLOAT64) < 0
        THEN CAST(0 AS INT64)
        WHEN NOT IS_NAN(CAST(`r`.`salary` AS FLOAT64))
        THEN CAST(100000 AS INT64)
      END AS `c2`,
      `r`.`smoker` AS `c3`,
      CAST(`r`.`note` AS STRING) AS `c4`,
      CASE WHEN `r`.`zip` IN (-7, 1010, 4050, 8001) THEN CAST(`r`.`zip` AS INT64) END AS `c5`
    FROM `people` AS `r`
    WHERE
      NOT `r`.`person` IS NULL
  ) AS `a`
  WHERE
    (
      `a`.`c4` LIKE 'a%\'_'
    ) OR (
      NOT (
        `a`.`c5` IN (1010)
      )
    )
) AS `b`
GROUP BY
  `b`.`x0`
