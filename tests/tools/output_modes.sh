# Outputs get what the umask leaves of 0666 and 0777; nobody else sees them before.
modes() { for each in *; do echo "$each" $(find "$each" -printf '%y:%m\n' | sort -u); done; }
for mask in 022 027 002 077; do
  echo "umask $mask"
  mkdir "$mask" && cd "$mask" && umask "$mask"
  "$ckpt" convert -q "$testdata/qwen3-micro" out --shard-size 1M > /dev/null
  "$ckpt" convert -q "$testdata/qwen35-micro" a.gguf --to q8_0 > /dev/null
  "$ckpt" patch -q out --step config:set=a=1 --out patched > /dev/null
  "$ckpt" publish -q out --archive out.tar.zst --lfs lfs > /dev/null
  "$ckpt" verify -q out.tar.zst --unpack unpacked > /dev/null
  modes
  cd ..
done
umask 022
# folders that hand their group down go on doing so
mkdir shared && chmod 2775 shared && (umask 002 && "$ckpt" convert -q "$testdata/qwen3-micro" shared/out > /dev/null)
stat -c %a shared/out shared/out/config.json
