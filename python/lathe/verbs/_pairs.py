"""What `lathe` calls the values of flags that take pairs, and verbs without --json. Written by dev/gen_python_verbs.py from what `lathe` says of itself; do not edit."""
PAIRS = {
    "custom": "CLASS=FILE",
    "optimize_for": "SYMBOL=EXTENT",
    "other_shape": "NAME=DIMS",
    "range": "SYMBOL=FIRST..LAST",
    "shape": "NAME=DIMS",
    "specialize": "SYMBOL=EXTENTS",
    "state": "IN=OUT",
}
WITHOUT_JSON = {"store path"}
