# OUT as shells complete it: with slashes at its end, new, there already, in plans and recipes
model="$testdata/llama-micro"
"$ckpt" convert "$model/" out/ -q > /dev/null; echo "exit $?"
"$ckpt" convert "$model" out/ 2>&1; echo "exit $?"
"$ckpt" convert "$model" ./out// --force -q > /dev/null; echo "exit $?"
"$ckpt" convert "$model" one/ --also two/=bf16 -q > /dev/null; echo "exit $?"
"$ckpt" convert "$model" planned/ --plan-out plan.json -q > /dev/null && "$ckpt" execute plan.json -q > /dev/null; echo "exit $?"
mkdir recipes && printf '{"in": "%s/", "out": "made/", "to": "bf16", "also": [{"out": "more/", "to": "f16"}]}' "$model" > recipes/r.json
"$ckpt" convert --recipe recipes/r.json -q > /dev/null; echo "exit $?"
"$ckpt" convert "$testdata/qwen35-micro" q.gguf/ 2>&1; echo "exit $?"
ls . recipes
