# the block of a model card stands between two lines; what a person wrote around it stays, and sums hold
cp -r "$testdata/llama-micro" m
printf -- '---\nlicense: apache-2.0\n---\n# My model\n\nWritten by hand.' > m/README.md
"$ckpt" publish m --card m/README.md -q > /dev/null; echo "exit $?"
head -12 m/README.md; tail -3 m/README.md; grep -c README.md m/README.md
"$ckpt" verify m -q > /dev/null; echo "verify $?"
cp m/README.md before.md && "$ckpt" publish m/ --card ./m/README.md -q > /dev/null && cmp m/README.md before.md && echo "the same again"
sed -i 's/by hand/by me/' m/README.md && echo "More below." >> m/README.md
"$ckpt" publish m --card m/README.md -q > /dev/null && sed -n '/^Written/p; $p' m/README.md
"$ckpt" verify m -q > /dev/null; echo "verify $?"
echo "-- not Markdown"
"$ckpt" publish m --card m/model.safetensors 2>&1; echo "exit $?"
"$ckpt" publish m --card m/config.json 2>&1; echo "exit $?"
cmp m/model.safetensors "$testdata/llama-micro/model.safetensors" && echo "weights are as they were"
echo "-- lines that do not fit"
printf '<!-- ckpt: begin -->\nno end\n' > broken.md
"$ckpt" publish m --card broken.md -q 2>&1 > /dev/null; echo "exit $?"; cat broken.md
ln -s broken.md link.md; "$ckpt" publish m --card link.md -q 2>&1 > /dev/null; echo "exit $?"
printf 'one\r\n' > dos.md; "$ckpt" publish m --card dos.md -q > /dev/null; grep -c "$(printf '\r')$" dos.md; wc -l < dos.md
echo "-- other people's files"
echo '{"mine": true}' > m/provenance.json
"$ckpt" publish m --provenance -q 2>&1 > /dev/null; echo "exit $?"; cat m/provenance.json
