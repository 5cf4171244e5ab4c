#!/bin/sh
# $ckpt of the scripts that tests/cli/run.py --try-advice runs: passes on what the program prints, and has
# the advice in it tried (advice_of_tools.py); most lines have none.
printed=$ADVICE_LOG.$$
if [ /proc/$$/fd/1 -ef /proc/$$/fd/2 ]; then   # 2>&1: in the order in which both were written
  "$REAL_CKPT" "$@" > "$printed.out" 2>&1
  code=$?
  : > "$printed.err"
else
  "$REAL_CKPT" "$@" > "$printed.out" 2> "$printed.err"
  code=$?
fi
cat "$printed.out"
cat "$printed.err" >&2
if grep -qE '^Next: |^ +fix: ckpt |^Fix |Try: ' "$printed.out" "$printed.err"; then
  mkfifo "$printed.words" "$printed.env" "$printed.done"   # pipes, because a script may limit the size of files
  echo "$printed" > "$ADVICE_ASK"
  printf '%s\0' "$(pwd -P)" "$@" > "$printed.words"
  env -0 > "$printed.env"
  read -r _ < "$printed.done"
fi
exit $code
