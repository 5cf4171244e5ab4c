cp -r "$testdata/qwen35-micro" m
sums() { (cd m && sha256sum * | sha256sum); }
"$ckpt" doctor m --for vllm-0.17 >/dev/null; echo $?
"$ckpt" doctor m --for vllm-0.17 --fix | grep -v -e '^    ' -e '^$'; echo $?
"$ckpt" doctor m --for vllm-0.17 >/dev/null; echo $?
once=$(sums)
"$ckpt" doctor m --for vllm-0.17 --fix >/dev/null; echo $?
[ "$once" = "$(sums)" ] && echo nothing more to do
"$ckpt" doctor m --rewrite-weights; echo $?
