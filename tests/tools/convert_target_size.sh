# --target-size and --target-bits: types are chosen so that the file fits, to the byte, whatever the threads
micro="$testdata/qwen35-micro"
"$ckpt" convert -q "$micro" preset.gguf --to q4_k_m >/dev/null
size=$(wc -c < preset.gguf)
"$ckpt" convert "$micro" a.gguf --target-size "$size" --threads 1 2>a.said >a.sum
"$ckpt" convert -q "$micro" b.gguf --target-size "$size" --threads 3 >/dev/null
cmp a.gguf b.gguf && echo "the same with any number of threads"
grep predicted a.said
got=$(wc -c < a.gguf)
test "$got" -le "$size" && test $((size - got)) -lt 4096 && echo "within, and near"
"$ckpt" convert -q "$micro" exact.gguf --target-size "$got" >/dev/null
test "$(wc -c < exact.gguf)" = "$got" && echo "its own size is reached"
"$ckpt" convert -q "$micro" below.gguf --target-size $((got - 1)) >/dev/null
test "$(wc -c < below.gguf)" -lt "$got" && echo "a byte less is kept to"
"$ckpt" convert "$micro" x.gguf --target-size 100KB; echo "exit $?"
least=$("$ckpt" convert "$micro" x.gguf --target-size 100KB 2>&1 | sed 's/.*possible are \([0-9]*\).*/\1/')
"$ckpt" convert -q "$micro" least.gguf --target-size "$least" >/dev/null && test "$(wc -c < least.gguf)" = "$least" && echo "the smallest size is the smallest"
"$ckpt" convert -q "$micro" x.gguf --target-size $((least - 1)) 2>/dev/null || echo "and a byte less is refused"
"$ckpt" convert "$micro" x.gguf --target-bits 1 ; echo "exit $?"
"$ckpt" convert -q "$micro" bits.gguf --target-bits 4.6 --json | grep -o '"bits_per_weight":4.[56][0-9]*'
"$ckpt" convert "$micro" all.gguf --target-size "24 GB" 2>&1 >/dev/null | grep "best type"
"$ckpt" convert -q "$micro" q8.gguf --to q8_0 >/dev/null
"$ckpt" convert "$micro" never-worse.gguf --target-size "$(wc -c < q8.gguf)" 2>&1 >/dev/null | grep taken
cmp q8.gguf never-worse.gguf && echo "where a choice gains nothing, the mixture itself"
"$ckpt" convert -q "$micro" bf16.gguf --to bf16 >/dev/null
"$ckpt" diff all.gguf bf16.gguf --values | grep total
echo "-- pins, searches and splits are kept to"
"$ckpt" convert -q "$micro" pin.gguf --target-size "$size" --tensor-type ffn_down=q8_0 --keep 'out:output.weight' >/dev/null
"$ckpt" show pin.gguf --tensors | grep -E 'ffn_down|^ *output.weight' | grep -c -E 'q8_0|bf16'
test "$(wc -c < pin.gguf)" -le "$size" && echo "within"
"$ckpt" convert -q "$micro" search.gguf --target-size "$size" --search best >/dev/null && test "$(wc -c < search.gguf)" -le "$size" && echo "within"
"$ckpt" convert -q "$micro" split.gguf --target-size "$size" --split-tensors 20 >/dev/null
test "$(cat split-*.gguf | wc -c)" -le "$size" && echo "within, all files together"
echo "-- a plan holds the types, and a recipe the target"
"$ckpt" convert -q "$micro" planned.gguf --target-size "$size" --plan-out plan.json >/dev/null
grep -q "\"target-" plan.json || echo "no target is left in it"
"$ckpt" execute -q plan.json >/dev/null && cmp planned.gguf a.gguf && echo "the same file"
echo "{\"in\": \"$micro\", \"out\": \"recipe.gguf\", \"target-size\": \"$size\"}" > r.json
"$ckpt" convert -q --recipe r.json >/dev/null && cmp recipe.gguf a.gguf && echo "the same file"
echo "-- what does not go together"
for words in "--to q4_k_m" "--pure" "--also y.gguf=q8_0" "--mmproj-only" "--target-bits 4"; do
  "$ckpt" convert "$micro" x.gguf --target-size 2MB $words; echo "exit $?"
done
for text in 0 -1 "2 4GB" nan; do "$ckpt" convert "$micro" x.gguf --target-size "$text"; done
for text in 0 -1 33 "4 bits"; do "$ckpt" convert "$micro" x.gguf --target-bits "$text"; done
"$ckpt" convert "$micro" x.gguf --target-size 2MB --keep '*'; echo "exit $?"
test -e x.gguf || echo "nothing was written"
