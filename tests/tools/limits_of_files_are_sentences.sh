# a limit on the size of files (ulimit -f) is a sentence for everything that writes, and leaves nothing under a final name
model="$testdata/qwen35-micro"
"$ckpt" convert "$model" whole -q > /dev/null || exit 9
"$ckpt" convert "$model" whole.gguf -q > /dev/null || exit 9
limited() { (ulimit -f "$blocks"; "$ckpt" "$@" 2>&1); echo "exit $?"; }
blocks=8
limited convert "$model" out -q
limited convert "$model" out.gguf -q
limited convert "$model" out.gguf --also q8_0=two.gguf -q
limited patch whole --out patched --step config:set=a=1 -q
limited publish whole --archive a.tar.zst -q
limited report whole.gguf -o page.html -q
limited convert "$model" out --plan-out plan.json -q
(ulimit -f 1; "$ckpt" show whole.gguf --json > answer 2> said); echo "exit $?"; cat said
ls -A | grep -v '^whole' | grep -v '^answer$\|^said$'
