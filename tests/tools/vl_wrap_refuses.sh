# what cannot be wrapped or unwrapped: one sentence, exit code 2, nothing written
tell() { "$ckpt" convert -q "$@"; echo "$?"; }
tell "$testdata/qwen35-micro" out --step vl-unwrap
tell "$testdata/qwen35-micro" out --step preprocessor
tell "$testdata/qwen3-micro" out --step vl-wrap
tell "$testdata/llama-micro" out --step vl-wrap
tell "$testdata/qwen35-micro" out --step vl-wrap:with="$testdata/qwen3-micro"
tell "$testdata/qwen35moe-micro" out --step vl-wrap:with="$testdata/qwen35vl-micro"
cp -r "$testdata/qwen35-micro" in && sed -i '/"architectures"/,/]/d' in/config.json
tell in out --step vl-wrap
printf '{"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5", "text_config": {"text_config": {}}}' > in/config.json
tell in out --step vl-wrap
ls
