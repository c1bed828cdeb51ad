"""The process of the command line: `dpsql`, and `python -m dpsql`."""

import gc
import sys

from dpsql import cli


def main() -> int:
    """Run the command of this process's arguments; its exit code."""
    gc.freeze()  # what is imported stays: no collection looks through it again, neither a server's nor the last one
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
