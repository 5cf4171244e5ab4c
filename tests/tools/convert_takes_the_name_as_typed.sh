# general.name is IN's name as it was typed: a link's own, the folder's for "." and ".."
cp -r "$testdata/qwen35-micro" Real-Model && ln -s Real-Model Linked-Model && mkdir sub && ln -s ../Real-Model sub/deeper
for in in Real-Model Linked-Model Linked-Model/ ./Linked-Model/. sub/../Linked-Model; do
  "$ckpt" convert "$in" a.gguf --force -q > /dev/null; "$ckpt" show a.gguf --metadata | grep general.name
done
cd Linked-Model && "$ckpt" convert . ../b.gguf -q > /dev/null; "$ckpt" show ../b.gguf --metadata | grep general.name
