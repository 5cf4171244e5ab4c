# the files that servers want of a vision-language class: usual ones, never over one that is there
"$ckpt" convert -q "$testdata/qwen35vl-micro" a --step preprocessor >/dev/null
cat a/preprocessor_config.json; grep video_processor_type a/video_preprocessor_config.json
mkdir base && sed 's/16777216/999/' a/preprocessor_config.json > base/preprocessor_config.json
"$ckpt" convert -q a b --step preprocessor >/dev/null && diff -r a b
"$ckpt" convert -q a c --step preprocessor:from=base >/dev/null; diff a/preprocessor_config.json c/preprocessor_config.json
sed -i 's/"patch_size": 16/"patch_size": 14/' base/preprocessor_config.json
"$ckpt" convert -q a d --step preprocessor:from=base; echo $?
