# Weights in layouts of other programs: parts, shapes and config.json are checked, without decoding them
P=$testdata/packed
for kind in awq gptq int4 gpt-oss-mxfp4 bitsandbytes; do
  echo "== $kind: $("$ckpt" doctor $P/$kind | grep -c 'not decoded here')"
done
look() { "$ckpt" doctor "$1" --for "$2" | grep -E "^(W[0-9]+|not checked)" | cut -c1-180; }
kimi=$testdata/families/kimi-int4/hf
look $kimi llama.cpp; echo "sound"
change() { mkdir $1; cp $kimi/*.json $kimi/*.safetensors $1/; sed -i "s/$2/$3/" $1/config.json; }
echo "== other groups in config.json"
change groups '"group_size": 32' '"group_size": 64'
look groups llama.cpp
echo "== experts of another size"
change experts '"moe_intermediate_size": 256' '"moe_intermediate_size": 128'
look experts llama.cpp
echo "== codes without their scales"
"$ckpt" convert $testdata/packed/methods/gptq-4 bare-g --step 'drop:tensors=*.scales' --quiet >/dev/null
look bare-g llama.cpp
echo "== a layout that is not read here"
cp -r $testdata/packed/methods/gptq-4 marlin; sed -i 's/"checkpoint_format": "gptq"/"checkpoint_format": "marlin"/' marlin/config.json
look marlin llama.cpp
