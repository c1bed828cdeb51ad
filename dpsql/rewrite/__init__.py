"""From a plan to the SQL that engines run."""
