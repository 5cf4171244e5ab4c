# --plan-out writes a new file, an older plan with --force, or stdout
cp -r "$testdata/llama-micro" m
"$ckpt" convert m out --plan-out m/config.json 2>&1; echo "exit $?"
"$ckpt" convert m out --plan-out m/config.json --force 2>&1; echo "exit $?"
cmp m/config.json "$testdata/llama-micro/config.json" && echo "config.json is as it was"
"$ckpt" convert m out --plan-out plan.json -q > /dev/null; echo "exit $?"
"$ckpt" convert m out --plan-out plan.json --to bf16 2>&1; echo "exit $?"
"$ckpt" convert m out --plan-out plan.json --to bf16 --force -q > /dev/null; echo "exit $?"
ln -s plan.json link.json
"$ckpt" convert m out --plan-out link.json --force 2>&1; echo "exit $?"
"$ckpt" convert m out/ --plan-out - > piped.json; echo "exit $?"; ls
"$ckpt" execute piped.json -q > /dev/null; echo "exit $?"
cmp out/config.json m/config.json && ls
"$ckpt" convert m out2 --plan-out - --json 2>&1; echo "exit $?"
