# as huggingface_hub lays a download out: the model's name is in the folder above, files are links
snapshot=hub/models--Org--qwen35-micro/snapshots/0123456789abcdef0123456789abcdef01234567
mkdir -p "$snapshot" hub/models--Org--qwen35-micro/blobs
for file in "$testdata"/qwen35-micro/*; do
  name=$(basename "$file")
  cp "$file" "hub/models--Org--qwen35-micro/blobs/$name.blob"
  ln -s "../../blobs/$name.blob" "$snapshot/$name"
done
"$ckpt" convert "$snapshot" a.gguf --to q4_k_m
