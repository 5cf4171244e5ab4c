# metadata in one line: known keys take their type, others need one, near misses are answered
"$ckpt" convert "$testdata/qwen35-micro" m.gguf -q >/dev/null || exit 9
"$ckpt" convert "$testdata/qwen3-micro" n.gguf --tokenizer-pre qwen2 -q >/dev/null || exit 9
cp m.gguf was.gguf
try() { "$ckpt" set m.gguf -q "$@" 2>&1 | grep -v "^m.gguf  *\(header\|rewritten\)\|^file \|^[0-9a-f]\{64\} "; }
echo "-- types"
try tokenizer.ggml.bos_token_id=5 general.name='A, "quoted" name' qwen35.rope.freq_base=5e6
try my.key=u32:5 my.flag=bool:true my.list='u32:[1, 2]' general.tags='["a, b","c"]'
try my.key=6
try my.words='two words' tokenizer.ggml.add_bos_token=true
"$ckpt" get m.gguf | grep -E "bos|general.name|freq_base|^my|tags"
"$ckpt" get m.gguf general.name my.key --json
echo "-- refused, with the right key or type"
for edit in my.new=5 my.new=1.5 my.new=true my.new='[1]' context_length=5 context_length=u32:5 qwen3.context_length=5 \
  general.nmae=x genral.name=x bos_token_id=1 tokenizer.ggml.pad_token_id=1 tokenizer.ggml.chat_template=x name=x \
  tokenizer.ggml.eos_token_id=1024 tokenizer.ggml.eos_token_id=text:5 tokenizer.ggml.eos_token_id=five general.name= \
  general.file_type=f32:1 tokenizer.ggml.tokens=a general.tags=a general.alignment=64 split.count=2 general.url=@nosuch; do
  try "$edit"; echo "  $edit: $?"
done 2>&1 | sed 's/: [0-9]*$//'
try general.name=a general.name=b
try general.name=a --remove general.name
try --remove general.nmae
try --remove general.name KEY VALUE
try general.author Me
try
echo "-- a file's text, and back"
printf 'line "one",\nline two' > t.jinja
try tokenizer.chat_template=@t.jinja
"$ckpt" get m.gguf tokenizer.chat_template --raw | cmp - t.jinja && echo same bytes
"$ckpt" get m.gguf tokenizer.chat_template
try general.author=text:@me && "$ckpt" get m.gguf general.author
printf 'a\377b' > bad && try general.author=@bad
echo "-- old and new, without writing; removing; back to what it was"
cp m.gguf before.gguf
"$ckpt" set m.gguf qwen35.context_length=8192 --remove my.key --dry-run; cmp m.gguf before.gguf
try qwen35.context_length=8192 --remove my.key --remove my.absent.thing
"$ckpt" set m.gguf qwen35.context_length=8192
"$ckpt" set m.gguf general.name=Other --out o.gguf -q >/dev/null && "$ckpt" get o.gguf general.name
"$ckpt" get m.gguf general.nmae; echo "exit $?"
"$ckpt" doctor m.gguf; echo "exit $?"
echo "-- the step has the same rules"
"$ckpt" patch n.gguf -q --step metadata:set=my.new=5 2>&1
"$ckpt" patch n.gguf -q --step metadata:set=context_length=5 2>&1
"$ckpt" patch n.gguf -q --step metadata:set=tokenizer.chat_template=@t.jinja > /dev/null
"$ckpt" get n.gguf tokenizer.chat_template --raw | cmp - t.jinja && echo same bytes
mkdir sub && cp t.jinja sub/u.jinja
echo '{"in": "../n.gguf", "steps": [{"name": "metadata", "set": {"tokenizer.chat_template.tool": "@u.jinja"}}]}' > sub/r.json
"$ckpt" patch --recipe sub/r.json -q > /dev/null && "$ckpt" get n.gguf tokenizer.chat_template.tool --raw | cmp - t.jinja && echo same bytes
echo "-- a split: the first file holds the keys"
"$ckpt" convert "$testdata/qwen35-micro" s.gguf --split-size 4MB -q >/dev/null || exit 9
sha256sum s-00002-* > second
"$ckpt" set s-00001-of-00002.gguf general.name=Split -q > /dev/null && sha256sum -c --quiet second && "$ckpt" get s-00001-of-00002.gguf general.name
"$ckpt" set s-00002-of-00002.gguf general.name=Second 2>&1; echo "exit $?"
