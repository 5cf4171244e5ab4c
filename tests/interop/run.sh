#!/bin/sh
# Compares our conversions with llama.cpp's converter, on about twenty models made for it, fixed tokenizers in
# transformers 4.57 and 5, and random adapters merged by PEFT. Long: get_peers.sh brings torch and both transformers,
# unless it has before.
#
# usage: tests/interop/run.sh CKPT [FOLDER]      exits 77, saying "peer missing", when they cannot be had
set -u
here=$(cd "$(dirname "$0")" && pwd)
ckpt=$(realpath "$1")
mkdir -p "${2:-$here/../../build/peers}" && peers=$(cd "${2:-$here/../../build/peers}" && pwd) || exit 1
said=$("$here/get_peers.sh" "$peers" converter transformers transformers457)
code=$?
[ $code -eq 0 ] || { echo "peer missing: llama.cpp's converter and transformers (${said#*; missing: })"; exit $code; }
. "$peers/environment"

"$CKPT_TRANSFORMERS_5" "$here/tokenizer_transformers.py" "$ckpt" || exit 1
for python in "$CKPT_TRANSFORMERS_5" "$CKPT_TRANSFORMERS_457"; do
  $python "$here/gguf_to_folder_transformers.py" "$ckpt" "$here/../../testdata" || exit 1
done
"$CKPT_TRANSFORMERS_5" "$here/gguf_to_folder_logits.py" "$ckpt" "$here/../../testdata" || exit 1
CKPT_PEFT_PYTHON=$CKPT_TRANSFORMERS_5 python3 "$here/peft_methods.py" "$ckpt" --count 300 || exit 1
models=$peers/models
rm -rf "$models" && "$CKPT_TRANSFORMERS_5" "$here/make_hf_variants.py" "$models" &&
  LLAMA_CPP=$CKPT_LLAMA_CPP "$CKPT_TRANSFORMERS_5" "$here/compare_conversions.py" "$ckpt" "$models"
