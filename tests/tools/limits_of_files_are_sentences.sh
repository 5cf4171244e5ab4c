# a limit on the size of files (ulimit -f) is a sentence for everything that writes, and leaves nothing under a final name
model="$testdata/qwen35-micro"
"$ckpt" convert "$model" whole -q > /dev/null || exit 9
"$ckpt" convert "$model" whole.gguf -q > /dev/null || exit 9
limited() { (ulimit -f 8; "$ckpt" "$@" -q 2>&1 > /dev/null); echo "exit $?"; }
limited convert "$model" out
limited convert "$model" out.gguf
limited patch whole --out patched --step config:set=a=1
limited publish whole --archive a.tar.zst
limited report whole.gguf -o page.html
ls -A
