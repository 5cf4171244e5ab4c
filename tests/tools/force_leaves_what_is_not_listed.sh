# what --force removes of a folder is named by its index, by this plan or by ckpt itself; each of these is not, and the
# run is refused with its name, before anything has changed
model="$testdata/llama-micro"
tree() { find "$1" -printf '%P %y %s %l\n' | sort; }
refused() { # NAME: home with it planted
  tree home > before
  "$ckpt" convert "$model" home --force > said 2>&1; echo "$1: exit $? $(cat said)"
  tree home | cmp - before || echo "$1: CHANGED"
  rm -rf home; cp -a clean home
}
# marks of ckpt on files, which -a keeps, do not allow removal
"$ckpt" convert "$model" clean -q > /dev/null || exit 9
cp -a clean home

cp -a clean home/sub; refused "a checkpoint below"
mkdir -p home/a/b && cp -a clean home/a/b/c; refused "a checkpoint far below"
mkdir -p home/.cache/huggingface/hub/models--x/blobs; echo w > home/.cache/huggingface/hub/models--x/blobs/1
refused "the hub's cache"
echo mine > home/README.md; refused "a card by hand"
echo mine > home/LICENSE; refused "a license by hand"
echo text > home/notes.txt; refused "notes"
mkdir elsewhere; echo e > elsewhere/e; ln -s ../elsewhere home/link; refused "a link to a folder"
ln -s ../elsewhere/e home/one; refused "a link to a file"
ln elsewhere/e home/second; refused "a second name of a file"
mkdir -p home/.git/objects; echo o > home/.git/objects/o; refused "git"
mkdir -p home/.git/lfs/objects/ab; cp -a home/model.safetensors home/.git/lfs/objects/ab/ab12; refused "git lfs"
cp -a home/model.safetensors home/model-00001-of-00002.safetensors; refused "a shard of another saving"
cp -a home/model.safetensors home/adapter.safetensors; refused "another file of weights"
"$ckpt" convert "$testdata/qwen35-micro" home/m.gguf -q > /dev/null; refused "a GGUF beside"
mkdir home/results; refused "an empty folder"
mkfifo home/pipe; refused "a pipe"
touch home/optimizer.pt home/training_args.bin; refused "a training"

# what they name goes: the checkpoint with its index, what publish wrote, notes of a download
"$ckpt" convert "$testdata/qwen35-micro" home --force --shard-size 1MB -q > /dev/null; echo "exit $?"
"$ckpt" publish home --provenance --made-by make -q > /dev/null; echo "publish $?"
mkdir -p home/.cache/huggingface/download; touch home/.cache/huggingface/download/config.json.lock home/.cache/huggingface/.gitignore
echo abc > home/.cache/huggingface/download/config.json.metadata
"$ckpt" convert "$model" home --force -q > /dev/null; echo "exit $?"
diff -r home clean && ls -A

