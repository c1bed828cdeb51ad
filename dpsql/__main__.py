"""`python -m dpsql`: the command line."""

import sys

from dpsql.cli import main

sys.exit(main())
