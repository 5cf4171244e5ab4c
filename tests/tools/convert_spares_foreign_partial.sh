# what has the name of a temporary and was not left by a run is not touched
mkdir out.partial && echo thesis > out.partial/one.tex && echo half > m.gguf.partial
"$ckpt" convert "$testdata/llama-micro" out 2>&1; echo "exit $?"
"$ckpt" convert "$testdata/llama-micro" out --force 2>&1; echo "exit $?"
"$ckpt" convert "$testdata/qwen35-micro" m.gguf 2>&1; echo "exit $?"
cat out.partial/one.tex m.gguf.partial; ls
