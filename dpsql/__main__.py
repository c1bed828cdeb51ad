"""The process of the command line: `dpsql`, and `python -m dpsql`."""

import atexit
import gc
import os
import sys
from contextlib import suppress

from dpsql import cli


def main() -> int:
    """Run the command of this process's arguments; its exit code."""
    gc.freeze()  # what is imported stays: no collection looks through it again, neither a server's nor the last one
    code = cli.main()
    if "vl_convert" in sys.modules:
        _end(code)
    return code


def _end(code: int) -> None:
    """End the process without taking the interpreter down.

    Under a process that has drawn a plot (vl-convert 1.9, with its threads), that now and then ends with "FATAL:
    exception not rethrown" and an abort, after all is written and closed.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the reader has gone, as cli.main has seen
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
