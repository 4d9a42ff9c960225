"""`lathe hello`. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
from __future__ import annotations

from lathe import results
from lathe.verbs._process import Progress, execute


def hello(*, quiet: bool | None = None, wide: bool | None = None, progress: Progress | None = None) -> results.Result:
    """Say hello.
    """
    return execute(hello, locals())
