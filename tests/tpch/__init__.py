"""The 22 queries of TPC-H, data in its shape, and what the product says to each."""
