"""Clients of PostgreSQL, each in the same conversation with a live server: `dpsql serve`, and PostgreSQL 15 as oracle.

script      what is said, and what must come of it
servers     the two servers, over the same data: the policy is `config/server.yaml` with an analyst for each client
adapters    how a client of Python says it
programs    how psql, Java and node say it
readme      how README says that each connects: that is how it is done here
"""
