"""Values in and out: PostgreSQL's types as dpsql takes and gives them.

oids     which types there are, and which of them a column of an answer has
inputs   parameters: strict, in text and binary
columns  the columns of an answer, many cells at a time
rows     the bytes of rows put together from columns
"""
