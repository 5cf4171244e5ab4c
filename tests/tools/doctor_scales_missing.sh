# Codes without one of their scales, in each layout of NVFP4: unsound, as what servers leave there is random.
model="$testdata/qwen3-micro"
pinned="--preset default-input-scale1"
"$ckpt" convert -q "$model" plain --to nvfp4 $pinned >/dev/null
"$ckpt" convert -q "$model" mixed --to nvfp4 $pinned --fp8 '*self_attn*' >/dev/null
"$ckpt" convert -q plain compressed --step nvfp4-layout:to=compressed-tensors >/dev/null
"$ckpt" convert -q "$model" weights --to nvfp4-w4a16 >/dev/null
"$ckpt" convert -q weights compressed-weights --step nvfp4-layout:to=compressed-tensors >/dev/null
cat > without.py <<'END'
import json, shutil, struct, sys
folder, name, out = sys.argv[1:]
shutil.copytree(folder, out)
file = open(out + "/model.safetensors", "rb")
header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
data = file.read()
kept, at = {"__metadata__": {"format": "pt"}}, 0
gone = header.pop("model.layers.1.mlp.down_proj." + name)
assert gone
body = b""
for key, value in header.items():
    if key == "__metadata__": continue
    piece = data[slice(*value["data_offsets"])]
    kept[key] = dict(value, data_offsets=[len(body), len(body) + len(piece)])
    body += piece
text = json.dumps(kept).encode()
open(out + "/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + body)
END
for folder in plain mixed compressed compressed-weights; do
  "$ckpt" doctor $folder --for vllm --for sglang | grep "Q09\|^vllm "
done
try() {
  python3 without.py $1 $2 broken && "$ckpt" doctor broken --for vllm | grep "^Q09"; rm -r broken
}
for scale in input_scale weight_scale weight_scale_2; do echo "-- $scale"; try plain $scale; try mixed $scale; done
for scale in input_global_scale weight_scale weight_global_scale; do echo "-- $scale"; try compressed $scale; done
echo "-- weight_global_scale, weights alone"; try compressed-weights weight_global_scale
