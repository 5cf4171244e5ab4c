# A profile that is not known is a usage error; a folder that cannot be read is an answer.
"$ckpt" doctor "$testdata/qwen35-micro" --for vllm-9; echo "exit $?"
mkdir broken; cp "$testdata/qwen35-micro/config.json" broken/
head -c 1000 "$testdata/qwen35-micro/model.safetensors" > broken/model.safetensors
"$ckpt" doctor broken --for vllm; echo "exit $?"
"$ckpt" doctor nowhere; echo "exit $?"
