# The projector of a vision model: with the language model, or alone; and what it cannot be
cp -r "$testdata/families/qwen3-vl/hf" qwen3-vl
m=qwen3-vl
convert() { echo "\$ $*"; "$ckpt" convert "$@" 2>&1 | grep -v "read, "; }
convert $m a.gguf --to q4_k_m --mmproj p.gguf
convert $m q8.gguf --mmproj-only --to q8_0
convert $m f16.gguf --mmproj-only --to f16 --also f32.gguf=f32
convert $m b.gguf --to f16 --mmproj pf16.gguf --quiet > /dev/null
cmp pf16.gguf f16.gguf && echo "next to a file of f16 it is f16"
convert $m c.gguf --to q8_0 --mmproj pq8.gguf --mmproj-type q8_0 --split-size 100kB --quiet > /dev/null
cmp pq8.gguf q8.gguf && ls c-*.gguf && echo "the model is split, the projector is not"
convert $m served.gguf --to q8_0 --mmproj ps.gguf --for llama.cpp
echo "-- of a plan, and of a recipe"
convert $m d.gguf --to q4_k_m --mmproj pd.gguf --plan-out plan.json > /dev/null
"$ckpt" execute plan.json --quiet
echo '{"in": "qwen3-vl", "out": "e.gguf", "mmproj-only": true}' > r.json
"$ckpt" convert --recipe r.json --quiet | sed 's/e.gguf/p.gguf/' | sha256sum -c
"$ckpt" convert $m f.gguf --mmproj pf.gguf --dry-run --json 2>/dev/null | grep summary
echo "-- a projector as IN"
convert p.gguf pq4.gguf --to q4_0
convert p.gguf folder
"$ckpt" show p.gguf | head -n 2
"$ckpt" doctor p.gguf --for llama.cpp
echo "-- refused"
convert $m x.gguf --mmproj-only --to q4_k_m
convert $m x --mmproj-only
convert $m x.gguf --mmproj y
convert $m x.gguf --mmproj x.gguf
convert $m x.gguf --mmproj-only --mmproj y.gguf
convert $m x.gguf --mmproj-only --to f16 --mmproj-type f16
convert $m x.gguf --mmproj-only --split-size 1MB
convert $m x.gguf --mmproj-only --for llama.cpp
convert $m x.gguf --mmproj-only --keep '*' --no-mtp
convert $m x.gguf --mmproj-type f16
convert a.gguf x.gguf --mmproj y.gguf
convert "$testdata/llama-micro" x.gguf --mmproj-only
ls
