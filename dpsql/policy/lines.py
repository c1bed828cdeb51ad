"""On which lines of its file the keys of a policy are written, for what is said about a policy that was loaded."""

from __future__ import annotations

import os

from dpsql.policy.document import Mapping, compose
from dpsql.policy.problems import Problems


class Lines:
    """The lines of a policy's text."""

    def __init__(self, text: str) -> None:
        self._root, _ = compose(text, os.environ, Problems())

    def of(self, *path: str) -> int:
        """The line of a key, named from the top: `of("budget", "analysts", "alice")`. Of a key that isn't written,
        that of the nearest section around it; 0, the file as a whole, where there is none. Names match without case.
        """
        node, line = self._root, 0
        for name in path:
            items = node.items if isinstance(node, Mapping) else ()
            found = next(((key, value) for key, value in items if key.text.lower() == name.lower()), None)
            if found is None:
                break
            line, node = found[0].line, found[1]
        return line
