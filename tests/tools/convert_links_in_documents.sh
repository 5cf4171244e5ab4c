# small files are read through links inside the folder and the hub's cache; elsewhere only when it is asked for
cp -r "$testdata/qwen35-micro" m
echo secret > outside.txt; mv m/generation_config.json apart.json
ln -sf "$PWD/outside.txt" m/chat_template.jinja; ln -s ../apart.json m/generation_config.json
for command in "convert m a.gguf" "convert m out" "show m" "doctor m" "patch m --step config:set=x=1" "diff m m"; do
  "$ckpt" $command 2>&1; echo "exit $?"
done
ls
rm m/chat_template.jinja; "$ckpt" convert m out 2>&1; echo "exit $?"
"$ckpt" convert m out --follow-links -q > /dev/null; echo "exit $?"; cmp out/generation_config.json apart.json && echo taken
"$ckpt" convert m out2 --follow-links --plan-out plan.json -q > /dev/null; echo "exit $?"
"$ckpt" execute plan.json -q > /dev/null 2>&1; echo "exit $?"
"$ckpt" execute plan.json --follow-links -q > /dev/null; echo "exit $?"
echo "-- a folder, the index, a link inside"
rm m/generation_config.json; mkdir jinja && echo x > jinja/tool.jinja && ln -s ../jinja m/additional_chat_templates
"$ckpt" show m 2>&1; echo "exit $?"; rm m/additional_chat_templates
mkdir m/sub && mv m/config.json m/sub/ && ln -s sub/config.json m/config.json
"$ckpt" show m > /dev/null; echo "exit $?"
"$ckpt" convert "$testdata/llama-micro" i --shard-size 100KB -q > /dev/null && mv i/model.safetensors.index.json . && ln -s ../model.safetensors.index.json i/
"$ckpt" show i 2>&1; echo "exit $?"
echo "-- weights lie where they lie"
rm i/model.safetensors.index.json && mv model.safetensors.index.json i/ && mkdir disk && mv i/model-00001* disk/
ln -s "$PWD"/disk/model-00001* i/ && "$ckpt" convert i j -q > /dev/null; echo "exit $?"
