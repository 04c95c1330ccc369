SELECT
  `b`.`x0` AS `k0`,
  COALESCE(SUM(`b`.`x1`), 0) AS `t0`,
  COALESCE(SUM(`b`.`x2`), 0) AS `t1`,
  COALESCE(SUM(`b`.`x3`), 0) AS `t2`
FROM (
  SELECT
    (
      `a`.`c0` DIV 10
    ) AS `x0`,
    (
      `a`.`c1` * 1000
    ) DIV (
      NULLIF(`a`.`c0`, 0)
    ) - CASE
      WHEN (
        `a`.`c1` * 1000
      ) % (
        NULLIF(`a`.`c0`, 0)
      ) <> 0
      AND (
        `a`.`c1` < 0
      ) <> (
        `a`.`c0` < 0
      )
      THEN 1
      ELSE 0
    END AS `x1`,
    (
      (
        `a`.`c2` - `a`.`c1` * 500 + 50
      ) + 5000
    ) DIV 100 - 50 AS `x2`,
    CASE
      WHEN `a`.`c3`
      THEN ABS(`a`.`c1`) * 5
      ELSE LEAST(`a`.`c0`, CAST(9 AS BIGINT))
    END AS `x3`
  FROM (
    SELECT
      CASE
        WHEN `r`.`age` < 0
        THEN CAST(0 AS BIGINT)
        WHEN `r`.`age` > 120
        THEN CAST(120 AS BIGINT)
        ELSE CAST(`r`.`age` AS BIGINT)
      END AS `c0`,
      CASE
        WHEN CAST(`r`.`bonus` AS DOUBLE) BETWEEN -50 AND 50
        THEN CAST(FLOOR(CAST(`r`.`bonus` AS DOUBLE) / 5 + 0.5) AS BIGINT)
        WHEN CAST(`r`.`bonus` AS DOUBLE) < -50
        THEN CAST(-10 AS BIGINT)
        WHEN NOT CAST(`r`.`bonus` AS DOUBLE) = CAST('NaN' AS DOUBLE)
        THEN CAST(10 AS BIGINT)
      END AS `c1`,
      CASE
        WHEN CAST(`r`.`salary` AS DOUBLE) BETWEEN 0 AND 1000
        THEN CAST(FLOOR(CAST(`r`.`salary` AS DOUBLE) * 100 + 0.5) AS BIGINT)
        WHEN CAST(`r`.`salary` AS DOUBLE) < 0
        THEN CAST(0 AS BIGINT)
        WHEN NOT CAST(`r`.`salary` AS DOUBLE) = CAST('NaN' AS DOUBLE)
        THEN CAST(100000 AS BIGINT)
      END AS `c2`,
      `r`.`smoker` AS `c3`,
      CAST(`r`.`note` AS STRING) AS `c4`,
      CASE WHEN `r`.`zip` IN (-7, 1010, 4050, 8001) THEN CAST(`r`.`zip` AS BIGINT) END AS `c5`
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
