# an OUT that is a link is not replaced: the error gives the name to type
"$ckpt" convert "$testdata/llama-micro" real -q > /dev/null || exit 9
ln -s real link; ln -s /nowhere/at/all dangling
"$ckpt" convert "$testdata/llama-micro" link --force 2>&1; echo "exit $?"
"$ckpt" convert "$testdata/llama-micro" link/ --force 2>&1; echo "exit $?"
"$ckpt" convert "$testdata/llama-micro" dangling --force 2>&1; echo "exit $?"
readlink link dangling
