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
tell convert n x --step vl-wrap:with=$p
tell convert n x --step tokenizer:from=$p
tell convert n x.gguf --tokenizer $p
tell convert n x --to nvfp4 --amax-from $p
tell convert n x --to nvfp4 --amax-from $p/hf_quant_config.json
tell convert n x --to nvfp4 --preset $p/recipe.yaml
tell convert n x.gguf --to q4_k_m --search best --moments $p/model.safetensors
tell convert n x.gguf --to q4_k_m --imatrix $p/model.safetensors
tell convert n x --step mixed-to-nvfp4:base=$p
tell doctor n --imatrix $p/model.safetensors
tell imatrix show $p/model.safetensors
tell report n --against $p --out r.html
tell publish m --source $p/config.json
tell publish m --card $p/README.md
tell publish m --recipe $p/config.json
"$ckpt" convert m g.gguf -q > /dev/null
tell convert g.gguf x --base $p
tell convert g.gguf x --step from-gguf:tokenizer=$p
tell patch g.gguf --step tokenizer:from=$p
ln -s $p link; tell show link; rm link
mkdir release && cp -r $p release/ && cp m/config.json release/; tell publish release
rm -r release/$p && cp $p.ledger-1-of-2 release/; tell publish release
"$ckpt" execute plan.json --part 2/2 -q > /dev/null; echo $?
"$ckpt" verify out -q > /dev/null; echo $?
