"""The DuckDB engine's sources: how each kind of source is read, and the data as they are at one moment.

data           one data version, loaded and locked
csv_files      CSV files: their header, their cells
line_ends      CSV files whose lines end in different ways
reports        how each source fits the policy, for the owner
parquet_files  Parquet files: views over them
database_file  the .duckdb file: attached and let go, its catalogue checked
public_tables  public tables: read whole, copied out, their values as keys
public_columns public tables' columns, with value sets from the data
uniqueness     keys that the policy relies on, checked against the data
catalogue      stored types against declared ones
fingerprint    the version of the source files, and their size
schemas        names and types of data that no policy names yet, for `dpsql init`
driver         DuckDB's settings, and its faults without their words
"""
