# single files: only names of this plan are replaced, and what temporaries of ckpt are called is nobody's elsewhere
"$ckpt" convert "$testdata/qwen35-micro" s.gguf --split-size 1MB -q > /dev/null || exit 9
ls > before
"$ckpt" convert "$testdata/qwen35-micro" s.gguf --split-size 2MB --force -q > /dev/null; echo "exit $?"
while read name; do [ -e "$name" ] || echo "gone: $name"; done < before

"$ckpt" convert "$testdata/llama-micro" out -q > /dev/null || exit 9
echo download > out.tar.zst.partial; mkdir lfs.partial; echo mine > lfs.partial/mine
"$ckpt" publish out --archive out.tar.zst --lfs lfs -q > /dev/null; echo "publish $?"
cat out.tar.zst.partial lfs.partial/mine

mkdir new.partial; echo half > new.partial/model.safetensors; touch new.partial.ledger
"$ckpt" patch out --out new --step config:set=a=1 2>&1; echo "patch $?"
rm new.partial.ledger; echo mine > new.partial/mine
"$ckpt" patch out --out new --step config:set=a=1 2>&1; echo "patch $?"
"$ckpt" verify out.tar.zst --unpack new 2>&1; echo "verify $?"
cat new.partial/model.safetensors new.partial/mine
