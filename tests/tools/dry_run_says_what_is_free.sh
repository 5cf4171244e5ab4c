# needed and free space is reported before anything is written, by file system
"$ckpt" convert "$testdata/llama-micro" out --dry-run 2> /dev/null | grep 'needs' | sed 's/, .* are free/, so much is free/'
"$ckpt" convert "$testdata/llama-micro" out --dry-run --json 2> /dev/null | grep '"space"' | sed 's/^/json: /; s/"free_bytes":[0-9]*/"free_bytes":N/'
