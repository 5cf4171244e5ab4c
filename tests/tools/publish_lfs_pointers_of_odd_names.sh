# names with spaces, brackets and quotes are patterns that git takes for just these files
mkdir m && cp "$testdata/qwen3-micro/config.json" m
tab=$(printf '\t')
for name in 'a b.gguf' 'c[1].gguf' 'd"e.gguf' 'f*?.gguf' 'g\h.gguf' 'grüße.gguf' 'plain.gguf' "tab${tab}here.gguf"; do
  printf x > "m/$name"
done
"$ckpt" publish m --force --lfs git/ --quiet > /dev/null; echo $?
cat git/.gitattributes
