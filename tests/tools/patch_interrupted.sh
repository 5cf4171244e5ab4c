cp -r "$testdata/qwen3-micro" m
mkdir -p m/.ckpt-patch/files
echo '{}' > m/.ckpt-patch/files/0
birth() { born=$(stat -c %w "$1"); [ "$born" = - ] && echo 0 || date -d "$born" +%s%N; }
lines='replace 0 generation_config.json
remove chat_template.jinja
end'
# as a patch of this folder leaves it that was killed (core/patch/staging.h)
of=$(printf '%s %s\n%s %s\n.ckpt-patch\n%s\n' "$(stat -c %i m)" "$(birth m)" \
  "$(stat -c %i m/.ckpt-patch)" "$(birth m/.ckpt-patch)" "$lines" | sha256sum | cut -d ' ' -f 1)
printf 'ckpt-patch 2\nof %s\n%s\n' "$of" "$lines" > m/.ckpt-patch/journal
"$ckpt" show m; echo $?
"$ckpt" verify m; echo $?
"$ckpt" convert m out; echo $?
"$ckpt" patch m --step config:set=a=1 --dry-run; echo $?
cp -r m copied
"$ckpt" patch copied 2>&1; echo $?
"$ckpt" patch m; echo $?
cat m/generation_config.json; ls -A m
mkdir m/.ckpt-patch
"$ckpt" verify m > /dev/null; echo $?
"$ckpt" patch m; echo $?
ls -A m
