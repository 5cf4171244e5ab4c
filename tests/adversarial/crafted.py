"""Makes what the adversarial cases need without any program but Python: a small checkpoint, model
signatures of any statement, tars with any header, zstd files."""
import base64
import hashlib
import json
import os
import re
import secrets
import struct

# ---- ECDSA on P-256 (FIPS 186-4, SEC 2) ---------------------------------------------------------
P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
     0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)


def plus(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % P == 0:
            return None
        slope = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def times(k, point):
    out = None
    while k:
        out, point, k = plus(out, point) if k & 1 else out, plus(point, point), k >> 1
    return out


def der(tag, content):
    assert len(content) < 128
    return bytes([tag, len(content)]) + content


def der_integer(value):
    return der(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def private_scalar(pem):
    """The private key of an unencrypted P-256 key in PEM: SEC1 or PKCS#8, whose first octet string
    of 32 bytes it is."""
    raw = base64.b64decode("".join(re.search(r"KEY-----\n(.*?)\n-----", pem, re.S)[1].split()))
    at = raw.index(b"\x04\x20")
    return int.from_bytes(raw[at + 2:at + 34], "big")


def ecdsa(key, message):
    digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
    while True:
        k = secrets.randbelow(N - 1) + 1
        r = times(k, G)[0] % N
        s = pow(k, -1, N) * (digest + r * key) % N
        if r and s:
            return der(0x30, der_integer(r) + der_integer(s))


# ---- model signatures ---------------------------------------------------------------------------
GIT_PATHS = [".git", ".gitattributes", ".github", ".gitignore"]
PAYLOAD_TYPE = "application/vnd.in-toto+json"


def statement(files, ignored=tuple(GIT_PATHS + ["model.sig"]), **changes):
    """`files`: (name, content) pairs. `changes` replace keys of the serialization; `root` the
    digest of all; `ignored` None leaves the key out."""
    files = sorted(files)
    digests = [hashlib.sha256(content).digest() for _, content in files]
    root = changes.pop("root", hashlib.sha256(b"".join(digests)).hexdigest())
    serialization = {"method": "files", "hash_type": "sha256", "allow_symlinks": False, **changes}
    if ignored is not None:
        serialization["ignore_paths"] = list(ignored)
    resources = [{"name": name, "algorithm": "sha256", "digest": digest.hex()}
                 for (name, _), digest in zip(files, digests)]
    return {"_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": "model", "digest": {"sha256": root}}],
            "predicateType": "https://model_signing/signature/v1.0",
            "predicate": {"serialization": serialization, "resources": resources}}


def bundle(key_folder, signed, key="p256", hint="p256", payload=None, payload_type=PAYLOAD_TYPE,
           signatures=1):
    """A model.sig of the statement `signed`; `payload`: another one than was signed."""
    text = json.dumps(signed).encode()
    shown = text if payload is None else json.dumps(payload).encode()
    pae = b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(text), text)
    if key == "p256":
        scalar = private_scalar((key_folder / "p256.pem").read_text())
    else:
        scalar = 12345  # a stranger's
    signature = {"sig": base64.b64encode(ecdsa(scalar, pae)).decode(), "keyid": ""}
    hinted = hashlib.sha256((key_folder / f"{hint}.pub").read_bytes()).hexdigest()
    return json.dumps({
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {"publicKey": {"hint": hinted}, "tlogEntries": []},
        "dsseEnvelope": {"payload": base64.b64encode(shown).decode(), "payloadType": payload_type,
                         "signatures": [signature] * signatures}}).encode()


# ---- a checkpoint -------------------------------------------------------------------------------
def tiny_safetensors(value=1.0):
    header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + struct.pack("<f", value)


def sums(files):
    return "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n"
                   for name, content in sorted(files)).encode()


# ---- tars and zstd ------------------------------------------------------------------------------
def header(name, size=0, kind=b"0", link=b"", size_field=None, magic=b"ustar\x0000", spoilt=False):
    name = name if isinstance(name, bytes) else name.encode()
    size_field = b"%011o\0" % size if size_field is None else size_field
    block = bytearray(name.ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + size_field
                      + b"00000000000\0" + b" " * 8 + kind + link.ljust(100, b"\0") + magic)
    block += bytes(512 - len(block))
    block[148:156] = b"%06o\0 " % (sum(block) + spoilt)
    return bytes(block)


def padded(content):
    return content + bytes(-len(content) % 512)


def member(name, content=b"", **options):
    return header(name, len(content), **options) + padded(content)


def pax(records, kind=b"x"):
    """`records`: (key, value) pairs in bytes."""
    text = b""
    for key, value in records:
        length = len(key) + len(value) + 3
        while len(str(length)) + len(key) + len(value) + 3 != length:
            length = len(str(length)) + len(key) + len(value) + 3
        text += b"%d %s=%s\n" % (length, key, value)
    return member("././@PaxHeader", text, kind=kind)


def tar(files):
    return b"".join(member(name, content) for name, content in files) + bytes(1024)


def zstd(data):
    """A frame of raw blocks (RFC 8878): one segment, eight bytes of content size."""
    out = b"\x28\xb5\x2f\xfd" + b"\xe0" + struct.pack("<Q", len(data))
    pieces = [data[i:i + (128 << 10)] for i in range(0, len(data), 128 << 10)] or [b""]
    for i, piece in enumerate(pieces):
        out += struct.pack("<I", len(piece) << 3 | (i == len(pieces) - 1))[:3] + piece
    return out


def write(folder, files):
    for name, content in files:
        path = os.path.join(os.fsencode(folder), name if isinstance(name, bytes) else name.encode())
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(content)
