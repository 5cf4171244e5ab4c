# One line of verdict first, all findings, and one command that fixes them; then the command that serves.
cp -r "$testdata/qwen35-micro" m
chmod -R u+w m
"$ckpt" doctor m --for vllm-0.17 > said; echo $?
head -1 said
fix=$(sed -n 's/^Fix all: \(ckpt [^(]*\).*/\1/p' said)
echo "$fix"
echo "== findings that fixes uncover are printed before"
"$ckpt" doctor m --for sglang | sed -n '/^What the fixes uncover/,$p' | grep '^[A-Z]'
echo "== it is typed as it stands: dry, elsewhere, in place"
type_it() { sh -c "\"$ckpt\" ${fix#ckpt} $1" | grep -v -e '^    ' -e '^$'; }
type_it --dry-run | head -8
type_it '--out fixed' | tail -2
ls fixed
type_it ''
echo "== nothing is left to fix"
"$ckpt" doctor m --for vllm-0.17 | tail -1
"$ckpt" doctor m --for vllm-0.17 --fix | head -1
echo "== a fix can be typed"
sed -i 's/"model_type": "qwen3_5_text"/"model_type": "qwen3"/' fixed/config.json
said=$("$ckpt" doctor fixed --for vllm-0.17 | grep -A9 '^C05' | sed -n 's/^    fix: //p' | head -1)
echo "$said"
sh -c "\"$ckpt\" ${said#ckpt}" >/dev/null && "$ckpt" doctor fixed --for vllm-0.17 | grep -c '^C05'
echo "== without --fix"
"$ckpt" doctor m --dry-run; "$ckpt" doctor m --out x
true
