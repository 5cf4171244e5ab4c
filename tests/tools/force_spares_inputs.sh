# no input is replaced, by whatever name it is reached: parts of a split, links and what they lead to, files of options
model="$testdata/qwen35-micro"
mkdir sp && "$ckpt" convert "$model" sp/m.gguf --split-size 1MB -q > /dev/null || exit 9
"$ckpt" convert "$model" other.gguf -q > /dev/null || exit 9
sha256sum sp/*.gguf other.gguf > sums
echo "-- names that overlap"; "$ckpt" convert sp/m-00001-of-00008.gguf sp/m.gguf --split-size 1MB --force 2>&1; echo "exit $?"
echo "-- another part"; "$ckpt" convert sp/m-00001-of-00008.gguf sp/m-00003-of-00008.gguf --force 2>&1; echo "exit $?"
echo "-- a second name"; ln other.gguf same.gguf
"$ckpt" convert other.gguf same.gguf --to q8_0 --force 2>&1; echo "exit $?"
echo "-- a temporary name"; mv same.gguf t.gguf.partial && "$ckpt" convert t.gguf.partial t.gguf 2>&1; echo "exit $?"
sha256sum -c --quiet sums && echo "all are as they were"

echo "-- links to blobs"; mkdir blobs links && cp "$testdata"/llama-micro/* blobs/
for file in blobs/*; do ln -s "../$file" links/; done
(cd blobs && sha256sum *) > blob-sums
"$ckpt" convert links blobs --force --follow-links 2>&1; echo "exit $?"
echo "-- options"; cp -r "$testdata/llama-micro" base
for option in --base --tokenizer; do
  "$ckpt" convert "$testdata/llama-micro" base $option base --force 2>&1; echo "exit $?"
done
"$ckpt" convert "$testdata/llama-micro" base --step tokenizer:from=base --force 2>&1; echo "exit $?"
(cd blobs && sha256sum -c --quiet ../blob-sums) && echo "all are as they were"
echo "-- one output in another"
"$ckpt" convert "$testdata/qwen35-micro" both --also both/q.gguf=q8_0 2>&1; echo "exit $?"
"$ckpt" convert "$testdata/qwen35-micro" both --also both.partial=bf16 2>&1; echo "exit $?"
