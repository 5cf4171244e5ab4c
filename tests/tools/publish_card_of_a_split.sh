# A split GGUF is one model of a card, whichever of its files the folder lists first.
mkdir m && "$ckpt" convert "$testdata/qwen3-micro" m/model.gguf --split-tensors 5 -q > /dev/null && ls m | head -2
"$ckpt" publish m --card m/README.md -q > /dev/null; echo $?
grep -c '^### ' m/README.md; grep '^### \|^| all' m/README.md; "$ckpt" verify m -q > /dev/null; echo $?
