# a folder is replaced when all of it is a checkpoint's; else what would go is listed, and nothing has changed
model="$testdata/llama-micro"
"$ckpt" convert "$model" home -q > /dev/null || exit 9
mkdir -p home/.git/objects home/projects/thesis
echo '[core]' > home/.git/config; echo blob > home/.git/objects/ab
echo chapter > home/projects/thesis/one.tex; echo list > home/notes.txt
find home | sort > before
"$ckpt" convert "$model" home --force 2>&1; echo "exit $?"
"$ckpt" convert "$model" home/ --force --dry-run 2>&1; echo "exit $?"
find home | sort | cmp - before && echo all of it is there

mkdir stray && cp "$model/model.safetensors" stray/ && echo sums > stray/taxes.ods
"$ckpt" convert "$model" stray --force 2>&1; echo "exit $?"
mkdir loras && cp "$model/model.safetensors" loras/anime.safetensors && cp "$model/model.safetensors" loras/oil.safetensors
"$ckpt" convert "$model" loras --force 2>&1; echo "exit $?"
i=0; while [ $i -lt 20 ]; do echo x > "stray/note-$i.txt"; i=$((i + 1)); done
"$ckpt" convert "$model" stray --force 2>&1; echo "exit $?"

echo precious > m.gguf; mkdir folder.gguf
"$ckpt" convert "$testdata/qwen35-micro" m.gguf --force 2>&1; echo "exit $?"
"$ckpt" convert "$testdata/qwen35-micro" folder.gguf --force 2>&1; echo "exit $?"
"$ckpt" convert "$testdata/qwen35-micro" s.gguf --split-size 1MB -q > /dev/null || exit 9
echo precious > s-00002-of-00008.gguf
"$ckpt" convert "$testdata/qwen35-micro" s.gguf --split-size 1MB --force 2>&1; echo "exit $?"
cat m.gguf s-00002-of-00008.gguf

# what earlier runs wrote is replaced: the checkpoint, sums, a name of its own
rm -r home/.git home/projects home/notes.txt
"$ckpt" publish home -q > /dev/null && "$ckpt" convert "$model" home --force -q > /dev/null; echo "exit $?"
cp "$model/config.json" home/named.json && "$ckpt" convert "$model" home --force 2>&1; echo "exit $?"
