# across --keep and --tensor-type, in the order they were typed; globs see the source's names
rows() { "$ckpt" convert "$testdata/qwen35-micro" a.gguf --to q4_k_m --dry-run --json "$@" | grep '"tensor":"blk.0.ffn_up.weight"' | grep -o '"to":"[^"]*"' | cut -d '"' -f 4; }
rows --tensor-type '*.mlp.up_proj.*=q6_k' --keep '*.mlp.*'
rows --keep '*.mlp.*' --tensor-type '*.mlp.up_proj.*=q6_k'
rows --tensor-type 'out:blk.0.ffn_*=q8_0'
