"""dpsql: a SQL proxy that answers aggregate queries over private tables with differential privacy."""
