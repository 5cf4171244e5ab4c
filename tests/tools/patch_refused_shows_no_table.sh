# A refused patch shows no table of changes.
cp -r "$testdata/qwen3-micro" m
mkdir m/.ckpt-patch && chmod 777 m/.ckpt-patch
"$ckpt" patch m --step config:set=a=1; echo $?
rm -r m/.ckpt-patch
"$ckpt" patch m --step config:set=a=1 --out no/such/folder; echo $?
