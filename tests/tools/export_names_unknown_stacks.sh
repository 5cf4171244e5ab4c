# Stacks of matrices under names that export does not know stay floats, with a note, unless they were meant to stay.
"$ckpt" convert "$testdata/families/granite4-h/hf" out --to nvfp4 --preset default-input-scale1 2>&1 | grep note
"$ckpt" convert "$testdata/families/granite4-h/hf" kept --to nvfp4 --preset default-input-scale1 --keep '*block_sparse_moe*' 2>&1 | grep -c stacks
"$ckpt" convert "$testdata/qwen3-micro" dense --to nvfp4 --preset default-input-scale1 2>&1 | grep -c stacks
true
