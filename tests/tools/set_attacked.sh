# links, modes, pipes, published files and many keys
"$ckpt" convert "$testdata/qwen35-micro" m.gguf -q >/dev/null || exit 9
cp m.gguf was.gguf
echo "-- a link gets a file of its own; what it led to stays"
ln -s m.gguf link.gguf && "$ckpt" set link.gguf general.name=Linked -q >/dev/null
cmp m.gguf was.gguf; [ -L link.gguf ] || echo "no link any more"
"$ckpt" get link.gguf general.name
echo "-- a second name"
ln m.gguf hard.gguf && "$ckpt" set hard.gguf general.name=Hard -q >/dev/null; cmp m.gguf was.gguf; "$ckpt" get hard.gguf general.name
echo "-- modes stay"
chmod 640 m.gguf && "$ckpt" set m.gguf general.name=Mode -q > /dev/null && stat -c %a m.gguf
mkfifo pipe.gguf; "$ckpt" set pipe.gguf general.name=x 2>&1; echo "exit $?"
"$ckpt" set nosuch.gguf general.name=x 2>&1; echo "exit $?"
echo "-- published files: sums do not go stale in silence"
mkdir pub && cp m.gguf pub/ && cp -r "$testdata/llama-micro" folder && chmod -R u+w folder
"$ckpt" publish pub -q > /dev/null && "$ckpt" publish folder -q > /dev/null
"$ckpt" set pub/m.gguf general.name=Published 2>&1 | grep -v '^[0-9a-f]\{64\}'
"$ckpt" publish pub --force -q > /dev/null && "$ckpt" verify pub | head -1
"$ckpt" set folder my_theta=5.5 2>&1 | grep -v '^[0-9a-f]\{64\}'
echo "-- many keys at once"
seq 1 20000 | sed 's/.*/my.key.&=u32:&/' > keys
xargs -s 2000000 "$ckpt" set m.gguf -q < keys > said && grep -c ' → ' said
"$ckpt" get m.gguf my.key.20000
