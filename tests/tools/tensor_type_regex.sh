# --tensor-type takes llama-quantize's regular expressions where no name matches as a glob.
types() {
  "$ckpt" convert "$testdata/qwen3-micro" a.gguf --to q8_0 --dry-run --json -q "$@" 2>err |
    grep -o '"tensor":"[^"]*"\|"to":"[^"]*"' | cut -d '"' -f 4 | paste - - | grep -v 'q8_0$\|f32$'
  cat err
}
echo "-- alternatives"; types --tensor-type 'blk\.(0|2)\.ffn_(up|down)=q5_0'
echo "-- found anywhere, as a part of a name is"; types --tensor-type 'attn_v=q6_k'
echo "-- anchored, counted"; types --tensor-type '^blk\.[12]\.attn_q\.=q4_0' --tensor-type 'token_[a-z]{4}=q6_k'
echo "-- a glob that matches stays one, and the last match wins"; types --tensor-type 'blk.1.ffn_*=q5_0' --tensor-type 'ffn_d.*t$=q6_k'
echo "-- neither"
for pattern in 'blk.9' '(ffn' 'ffn_(?!up)' '*ffn_dwn*' '(a*)*b'; do types --tensor-type "$pattern=q6_k"; done
