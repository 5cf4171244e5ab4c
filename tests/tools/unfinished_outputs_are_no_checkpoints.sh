# Every command that reads a checkpoint says what an unfinished one is, and how it is finished.
cp -r "$testdata/qwen35-micro" m
"$ckpt" convert m out --to nvfp4-w4a16 --plan-out plan.json -q > /dev/null
"$ckpt" execute plan.json --part 1/2 -q > /dev/null; ls
cp -r m n; p=out.partial
tell() { echo "$1: $("$ckpt" "$@" 2>&1 > /dev/null | head -1)"; "$ckpt" "$@" > /dev/null 2>&1; echo $?; }
tell verify $p
tell publish $p
tell publish m --source $p --provenance
tell doctor $p
tell show $p
tell report $p --out r.html
tell convert $p x.gguf
tell convert m x --step graft:from=$p,tensors=lm_head.weight
tell patch $p --step metadata:set=a=b
tell diff m $p
tell diff $p m
tell verify $p/model.safetensors
"$ckpt" execute plan.json --part 2/2 -q > /dev/null; echo $?
"$ckpt" verify out -q > /dev/null; echo $?
