# Experts of MXFP4 that are read with rows and columns exchanged are shown as what they are stored as.
"$ckpt" convert "$testdata/export/gpt-oss-nano" out --to nvfp4 --preset experts-only-input-scale1 --dry-run --json |
  grep '"tensor":"model.layers.0.mlp.experts' | grep '"from":"mxfp4' | grep -o '"from":"[a-z0-9_]*"\|"to":"[a-z0-9_]*"\|"source_bytes":[0-9]*'
