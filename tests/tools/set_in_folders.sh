# a folder's JSON documents: values keep their kind, keys of other documents and near misses are answered
cp -r "$testdata/qwen35vl-micro" vl && cp -r "$testdata/llama-micro" m && chmod -R u+w vl m
try() { "$ckpt" set m -q "$@" 2>&1 | grep ' → \|ckpt: '; }
try my_theta=json:1e6 generation_config.json:temperature=0.6 tokenizer_config.json:added='"5"' max_position_embeddings=8192
try hidden_act=5 tie_word_embeddings=true my_list='[1, 2]' my_text='a, b' model.safetensors:made_by=me
try torch_dtype=bfloat16 bos_token_id=null
"$ckpt" get m my_theta hidden_act my_list my_text generation_config.json:temperature
"$ckpt" get m my_theta
"$ckpt" get m my_theta generation_config.json:temperature --json
python3 -m json.tool m/config.json > /dev/null
"$ckpt" show m --metadata | grep made_by
echo "-- refused"
for edit in my_thta=1 rope_theta=1 temperature=1 vocab_size=many tie_word_embeddings=yes nosuch.json:a=1 eos_token_id=100000 \
  a.b=1 bos_token_id= vocab_size=json:[; do
  try "$edit"
done
try vocab_size=1 vocab_size=2
try my_theta=1 --remove config.json:my_theta
try --remove my_thta
"$ckpt" set vl rope_parameters.rope_theta=1 2>&1
"$ckpt" set vl text_config.max_position_embeddings=99 --dry-run
try a.b=json:1 my_thta=text:x
try --remove a --remove my_thta
"$ckpt" get m nosuch; echo "exit $?"
