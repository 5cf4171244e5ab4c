# NVFP4 experts as ModelOpt exports gpt-oss: known as quantized, and refused where no loader reads the layout.
"$ckpt" convert "$testdata/families/gpt-oss-mxfp4/hf" out --to nvfp4 --preset experts-only-input-scale1 --kv-cache fp8 --quiet > sums
"$ckpt" doctor out --for vllm-0.17 --for llama.cpp --for tensorrt-llm; echo "exit $?"
