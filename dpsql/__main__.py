"""The process of the command line: `dpsql`, and `python -m dpsql`."""

import atexit
import gc
import os
import signal
import sys
from contextlib import suppress


def main() -> int:
    """Run the command of this process's arguments; its exit code."""
    with suppress(ValueError):  # not the main thread: then nothing interrupts it
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _leave)
    from dpsql import cli  # takes half a second

    gc.freeze()  # what is imported stays: no collection looks through it again, neither a server's nor the last one
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = cli.main()
    if "vl_convert" in sys.modules:
        _end(code)
    return code


def _leave(number: int, _frame: object) -> None:
    """End at once: nothing is open yet, and an exception in the middle of an import may be swallowed."""
    with suppress(OSError, AttributeError):
        os.write(2, b"interrupted; nothing was charged\n")
    os._exit(128 + number)  # as shells say it


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
