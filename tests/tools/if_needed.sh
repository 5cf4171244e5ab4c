# --if-needed: nothing is done where OUT is what this plan makes of the same IN; else the usual rules hold.
cp -r "$testdata/qwen3-micro" m; chmod -R u+w m
if_needed() { "$ckpt" convert m out.gguf --if-needed "$@" 2>&1 >sums | grep -E 'up to date|^ckpt: (out|--)|written in' | sed 's/.*written in.*/written/'; }
echo "== first, again, and with a note of what is there"
if_needed --to q4_k_m
cp sums first
if_needed --to q4_k_m
cmp sums first && sha256sum -c --quiet sums && echo "the same sums, and they are right"
"$ckpt" convert m out.gguf --if-needed --to q4_k_m --json -q | grep -o '"up_to_date":true'
echo "== a touched OUT is the same; a changed one is not"
touch out.gguf
if_needed --to q4_k_m
printf X | dd of=out.gguf bs=1 seek=1000000 conv=notrunc 2>/dev/null
if_needed --to q4_k_m
if_needed --to q4_k_m --force
if_needed --to q4_k_m
echo "== options of another plan"
if_needed --to q8_0
if_needed --to q8_0 --force
if_needed --to q4_k_m
if_needed --to q8_0
echo "== a changed IN, weights and documents; one with its old time"
touch -r m/model.safetensors time
printf '\001' | dd of=m/model.safetensors bs=1 seek=3000000 conv=notrunc 2>/dev/null
touch -r time m/model.safetensors
if_needed --to q8_0
if_needed --to q8_0 --force
sed -i 's/"rope_theta": [0-9.]*/"rope_theta": 20000.0/' m/config.json
if_needed --to q8_0
if_needed --to q8_0 --force
echo "== a folder, in place of which a file is missing, and two outputs"
"$ckpt" convert m folder --if-needed --also two.gguf=q8_0 -q >sums
"$ckpt" convert m folder --if-needed --also two.gguf=q8_0 2>&1 >again | grep -c 'up to date'
cmp sums again
rm folder/config.json
"$ckpt" convert m folder --if-needed --also two.gguf=q8_0 2>&1 >/dev/null | head -1
echo "== the record is another user's, or none"
echo '{"ckpt_made": 1, "plan": 7' > .out.gguf.ckpt-made
if_needed --to q8_0
echo "== what writes no OUT"
"$ckpt" convert m out.gguf --if-needed --dry-run; echo "exit $?"
"$ckpt" convert m out.gguf --if-needed --plan-out p.json; echo "exit $?"
ls -A | grep -v '^m$'
