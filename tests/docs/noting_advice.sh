#!/bin/sh
# $ckpt of the scripts that advice_of_tools.py runs: passes on what the program prints, and has
# the advice in it tried; most lines have none, and need no Python.
printed=$ADVICE_LOG.$$
"$REAL_CKPT" "$@" > "$printed.out" 2> "$printed.err"
code=$?
cat "$printed.out"
cat "$printed.err" >&2
if grep -qE '^Next: |^ +fix: ckpt |Try: ' "$printed.out" "$printed.err"; then
  python3 "$ADVICE_OF_TOOLS" "$printed" "$@"
fi
exit $code
