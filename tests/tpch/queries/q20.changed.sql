-- the sums of each part and supplier are a subquery in FROM, grouped by both and joined; hint: group it by what it is compared with, in FROM, and join its result: (SELECT key, SUM(x) AS s FROM … GROUP BY key HAVING COUNT(*) > 0) AS q
SELECT s_name, s_address
FROM supplier, nation
WHERE s_suppkey IN (
        SELECT ps_suppkey
        FROM partsupp
        JOIN (
                SELECT l_partkey, l_suppkey, 0.5 * SUM(l_quantity) AS half
                FROM lineitem
                WHERE l_shipdate >= DATE '1994-01-01'
                  AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
                GROUP BY l_partkey, l_suppkey
                HAVING COUNT(*) > 0) AS sold
          ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey
        WHERE ps_partkey IN (
                SELECT p_partkey
                FROM part
                WHERE p_name LIKE 'forest%')
          AND ps_availqty > half)
  AND s_nationkey = n_nationkey
  AND n_name = 'CANADA'
ORDER BY s_name
