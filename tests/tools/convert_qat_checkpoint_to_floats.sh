# Measurements of a training with fake quantization have no place in plain floats, nor in a GGUF.
qat="$testdata/export/qat-checkpoint"
"$ckpt" convert "$qat" bf16 --to bf16 2> said > /dev/null; echo $?; grep note said
ls bf16
"$ckpt" show bf16 --tensors | grep -c quantizer
"$ckpt" convert "$qat" direct.gguf --to q8_0 2> said > /dev/null; echo $?; grep note said
# the same values as by way of the clean folder
"$ckpt" convert bf16 by_way.gguf --to q8_0 --model-name "Qat Checkpoint" -q > /dev/null; echo $?
"$ckpt" diff direct.gguf by_way.gguf --quiet; echo $?
# asked for, they stay
"$ckpt" convert "$qat" kept --step 'cast:type=bf16,keep=*_quantizer.*' -q > /dev/null; echo $?
"$ckpt" show kept --tensors | grep -c quantizer
# a quantizer that changes what a weight means is not dropped
cp -r "$qat" awq && chmod -R u+w awq
python3 - <<'PY'
import json, struct
path = "awq/model.safetensors"
data = open("awq/model.safetensors", "rb").read()
n = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + n])
header = {k.replace("input_quantizer._amax", "input_quantizer._pre_quant_scale"): v for k, v in header.items()}
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open(path, "wb").write(struct.pack("<Q", len(text)) + text + data[8 + n:])
PY
"$ckpt" convert awq awq.gguf 2>&1; echo $?
