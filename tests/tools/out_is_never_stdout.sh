# "-" is stdout elsewhere; here it would be a file of that name, which nobody means
model="$testdata/llama-micro"
tried() { "$ckpt" "$@" -q 2>&1; echo "exit $?"; }
tried convert "$model" -
tried convert "$model" q.gguf --to q8_0 --also -=bf16
tried report "$model" -o -
tried imatrix merge "$testdata/formats/good/imatrix/imatrix.gguf" -o -
tried report "$model" -o ./-
ls
