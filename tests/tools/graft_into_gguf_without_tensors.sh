# A GGUF of keys alone takes tensors as any other does.
python3 - <<'PY'
import struct
text = lambda t: struct.pack("<Q", len(t)) + t
key = text(b"general.architecture") + struct.pack("<I", 8) + text(b"llama")
open("keys.gguf", "wb").write(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key)
PY
types="$testdata/formats/good/gguf/types.gguf"
"$ckpt" patch keys.gguf --step "graft:from=$types,tensors=*" -q > /dev/null; echo $?
"$ckpt" show keys.gguf | sed -n 2p
"$ckpt" show "$types" | sed -n 2p
