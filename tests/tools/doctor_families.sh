# Every family that becomes a GGUF: what the doctor says of its folder for llama.cpp
cd "$testdata/families"
for family in *; do
  "$ckpt" doctor $family/hf --for llama.cpp | grep -E "^([A-Z][0-9]+|$family/hf: )" | cut -c1-100 || echo "$family/hf: nothing"
done
