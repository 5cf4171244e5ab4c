cp -r "$testdata/qwen3-micro" m
mkdir -p m/.ckpt-patch/files
printf 'ckpt-patch 1\nreplace 0 generation_config.json\nremove chat_template.jinja\nend\n' > m/.ckpt-patch/journal
echo '{}' > m/.ckpt-patch/files/0
"$ckpt" show m; echo $?
"$ckpt" verify m; echo $?
"$ckpt" convert m out; echo $?
"$ckpt" patch m --step config:set=a=1 --dry-run; echo $?
"$ckpt" patch m; echo $?
cat m/generation_config.json; ls -A m
mkdir m/.ckpt-patch
"$ckpt" verify m > /dev/null; echo $?
"$ckpt" patch m; echo $?
ls -A m
