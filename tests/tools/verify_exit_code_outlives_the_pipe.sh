# whoever reads the answer may leave: the exit code is the verdict, and what was begun is finished
cp -r "$testdata/qwen3-micro" m && "$ckpt" publish m --quiet > /dev/null || exit 9
cp -r m bad && echo >> bad/config.json
exec 3>&1
# the reader is gone when ckpt begins to speak
unheard() { { sleep 0.2; "$ckpt" "$@" --quiet 2>> said; echo "$*: exit $?" >&3; } | true; }
unheard verify m
unheard verify bad
unheard verify bad --json
unheard diff m bad
unheard show m --tensors
unheard convert m out
unheard convert m json --json
unheard convert m out
cmp m/model.safetensors out/model.safetensors && cmp out/model.safetensors json/model.safetensors && echo "both are whole"
cat said
"$ckpt" verify bad | grep -q 'not sound' && echo "grep found it"
