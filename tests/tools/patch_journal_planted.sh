# A journal that no patch of this checkpoint has written touches nothing, be its digest right or not.
mkdir -p d/docs d/.m.gguf.ckpt-patch/files
cp "$testdata/formats/good/gguf/types.gguf" d/m.gguf && cp d/m.gguf before
echo precious > d/docs/thesis.txt
staging=d/.m.gguf.ckpt-patch
echo planted > $staging/files/0
birth() { born=$(stat -c %w "$1"); [ "$born" = - ] && echo 0 || date -d "$born" +%s%N; }
# as core/patch/staging.h has it: which folder, which staging folder, its name, the lines
digest() {
  printf '%s %s\n%s %s\n%s\n%s\nend\n' "$(stat -c %i d)" "$(birth d)" "$(stat -c %i $staging)" \
    "$(birth $staging)" "${staging#d/}" "$1" | sha256sum | cut -d ' ' -f 1
}
plant() { printf 'ckpt-patch 2\nof %s\n%s\nend\n' "$1" "$2" > $staging/journal; }
try() {
  "$ckpt" patch d/m.gguf 2>&1; echo $?
  "$ckpt" patch d/m.gguf --step metadata:set=general.name=Mine 2>&1; echo $?
  cat d/docs/thesis.txt && cmp d/m.gguf before && ls -A d
}
lines='remove docs/thesis.txt
replace 0 m.gguf'
plant 0000000000000000000000000000000000000000000000000000000000000000 "$lines"; try
plant "$(digest "$lines")" "$lines"; try
plant "$(digest 'replace 0 docs/thesis.txt')" 'replace 0 docs/thesis.txt'; try
printf 'ckpt-patch 1\n%s\nend\n' "$lines" > $staging/journal; try
# written by this user here, but others could have written to it
lines='replace 0 m.gguf'
plant "$(digest "$lines")" "$lines"
chmod 666 $staging/journal; try
chmod 600 $staging/journal; chmod 777 $staging; try
chmod 700 $staging; chmod 770 $staging/files; try
# what the sentence says to type
rm -r d/.m.gguf.ckpt-patch
"$ckpt" patch d/m.gguf --step metadata:set=general.name=Mine -q > /dev/null; echo $?
