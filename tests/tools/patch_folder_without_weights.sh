# A folder of documents: steps that need no weights work on it, others say what is missing.
mkdir m && cp "$testdata"/qwen3-micro/*.json m
"$ckpt" patch m --step config:set=max_position_embeddings=128 -q > /dev/null; echo $?
grep max_position m/config.json
"$ckpt" patch m --step rename:from=model.,to=m. 2>&1; echo $?
"$ckpt" patch m --step config:set=a=1 --out d/ -q > /dev/null; echo $?
ls d; tail -n 2 d/config.json; grep -c '"a"' m/config.json
mkdir none && "$ckpt" patch none --step config:set=a=1 2>&1; echo $?
