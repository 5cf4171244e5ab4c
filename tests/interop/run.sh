#!/bin/sh
# Compares our conversions with llama.cpp's converter, on about twenty models made for it, and fixed tokenizers
# in transformers 4.57 and 5. Long: it installs torch and both transformers into a folder of the build.
#
# usage: tests/interop/run.sh CKPT [FOLDER]      exits 77, saying "peer missing", when they cannot be had
set -u
here=$(cd "$(dirname "$0")" && pwd)
ckpt=$(realpath "$1")
work=${2:-$here/../../build/interop}
missing() { echo "peer missing: llama.cpp's converter ($1)"; exit 77; }
mkdir -p "$work" && cd "$work" || exit 1

command -v npm >/dev/null || missing "npm is not installed"
if [ ! -d llama.cpp ]; then
  npm pack --silent node-llama-cpp@3.22.1 >/dev/null 2>&1 || missing "npm cannot fetch node-llama-cpp"
  tar xzf node-llama-cpp-3.22.1.tgz package/llama/gitRelease.bundle
  git clone -q package/llama/gitRelease.bundle llama.cpp 2>/dev/null || missing "its sources have another place"
  rm -rf package node-llama-cpp-3.22.1.tgz
fi
if [ ! -e python/done ]; then
  python3 -m venv python || missing "python3 -m venv does not work"
  python/bin/pip install -q torch transformers==5.17.0 accelerate safetensors gguf sentencepiece mistral-common ||
    missing "pip cannot install torch and transformers"
  touch python/done
fi
if [ ! -e python457/done ]; then
  python3 -m venv python457 || missing "python3 -m venv does not work"
  python457/bin/pip install -q torch torchvision transformers==4.57.1 sentencepiece protobuf jinja2 pillow ||
    missing "pip cannot install transformers 4.57"
  touch python457/done
fi
CKPT_TRANSFORMERS_457=$PWD/python457/bin/python CKPT_TRANSFORMERS_5=$PWD/python/bin/python \
  python/bin/python "$here/tokenizer_transformers.py" "$ckpt" || exit 1
for python in python/bin/python python457/bin/python; do
  $python "$here/gguf_to_folder_transformers.py" "$ckpt" "$here/../../testdata" || exit 1
done
python/bin/python "$here/gguf_to_folder_logits.py" "$ckpt" "$here/../../testdata" || exit 1
rm -rf models && python/bin/python "$here/make_hf_variants.py" models &&
  LLAMA_CPP=$PWD/llama.cpp python/bin/python "$here/compare_conversions.py" "$ckpt" models
