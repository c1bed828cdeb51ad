-- the mean of each part is a subquery in FROM, grouped by the part and joined; hint: group it by what it is compared with, in FROM, and join its result: (SELECT key, SUM(x) AS s FROM … GROUP BY key HAVING COUNT(*) > 0) AS q
SELECT SUM(l_extendedprice) / 7.0 AS avg_yearly
FROM lineitem, part, (
        SELECT l_partkey AS partkey, 0.2 * AVG(l_quantity) AS fifth
        FROM lineitem
        GROUP BY l_partkey
        HAVING COUNT(*) > 0) AS means
WHERE p_partkey = l_partkey
  AND p_brand = 'Brand#23'
  AND p_container = 'MED BOX'
  AND partkey = p_partkey
  AND l_quantity < fifth
