# C05's fix holds a text in quotes: typed as it is printed it sets the text, and the finding is gone
cp -r "$testdata/qwen35vl-micro" in
sed -i 's/"qwen3_5_text"/"qwen3_text"/' in/config.json
"$ckpt" doctor in --for vllm > found.txt
line=$(sed -n '/^C05/,/^$/p' found.txt | sed -n 's/^ *[a-z]*: ckpt //p')
echo "ckpt $line"
eval "\"\$ckpt\" $line" >/dev/null 2>&1; echo "exit $?"
grep -c '"qwen3_5_text"' in/config.json
"$ckpt" doctor in --for vllm | grep -c C05 || true
