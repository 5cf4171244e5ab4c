#!/usr/bin/env python3
"""The rate at which ckpt reads a folder from a server on this machine, as a ratio to curl with as many connections.

usage: bench/remote.py CKPT [--size MB] [--files N] [--latency MS] [--rate MB] [--cut PERCENT] [--runs N]

FILES safetensors (default 8) of together SIZE (default 2000 MB) are copied by `ckpt convert URL OUT` to /dev/shm, and from a local folder; curl
writes the same ranges to /dev/null. ckpt hashes what it writes, a file on one core: one file is copied no faster than it is hashed.
--latency waits before each answer, --rate is what each connection gets in a second, --cut ends so many of a hundred answers to ckpt in the middle.
"""
import argparse
import filecmp
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

typed = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
typed.add_argument("ckpt", type=pathlib.Path)
for name, default in (("size", 2000), ("files", 8), ("latency", 0), ("rate", 0), ("cut", 0), ("runs", 3), ("connections", os.cpu_count() + 16)):
    typed.add_argument("--" + name, type=float if name == "latency" else int, default=default)
typed = typed.parse_args()
cuts = random.Random(1)


class Handler(BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm, log_message = "HTTP/1.1", True, lambda *_: None

    def do_GET(self):
        time.sleep(typed.latency / 1000)
        file, part = FILES.get(self.path), self.headers["Range"]
        size = os.fstat(file.fileno()).st_size if file else 0
        first, last = (int(end) for end in part[6:].split("-")) if part else (0, size - 1)
        last = min(last, size - 1)
        self.send_response(404 if not file else 206 if part else 200)
        if file and part:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(last - first + 1 if file else 0))
        self.end_headers()
        self.wfile.flush()
        end = last + 1 if file else first
        if "curl" not in self.headers["User-Agent"] and cuts.random() * 100 < typed.cut:
            end, self.close_connection = (first + last) // 2, True
        piece, start, begun = (typed.rate * 20_000 or 1 << 62), first, time.monotonic()
        while first < end:
            first += os.sendfile(self.connection.fileno(), file.fileno(), first, min(piece, end - first))
            if typed.rate:
                time.sleep(max(0, begun + (first - start) / (typed.rate * 1e6) - time.monotonic()))


def write_model(model):
    """As many files as were asked for, of one F32 tensor each."""
    model.mkdir()
    rows = typed.size * 1_000_000 // 4 // 4096 // typed.files
    block = bytes(byte & 0x3f for byte in os.urandom(1 << 20))   # finite values
    places = {f"model.layers.{n}.mlp.up_proj.weight": f"model-{n + 1:05}-of-{typed.files:05}.safetensors" for n in range(typed.files)}
    for name, file in places.items():
        size = rows * 4096 * 4
        head = json.dumps({name: {"dtype": "F32", "shape": [rows, 4096], "data_offsets": [0, size]}}, separators=(",", ":")).encode()
        head += b" " * (-len(head) % 8)
        with open(model / file, "wb") as to:
            to.write(struct.pack("<Q", len(head)) + head)
            for at in range(0, size, len(block)):
                to.write(block[:min(len(block), size - at)])
    (model / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": size * typed.files}, "weight_map": places}))
    (model / "config.json").write_text('{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}')


def seconds(words):
    start = time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
    folder = pathlib.Path(folder)
    model = folder / "model"
    write_model(model)
    FILES = {"/" + file.name: open(file, "rb") for file in model.iterdir()}
    sizes = {path: os.fstat(file.fileno()).st_size for path, file in FILES.items()}
    server = type("Server", (ThreadingHTTPServer,), {"request_queue_size": 128, "handle_error": lambda *_: None})(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url, part = f"http://127.0.0.1:{server.server_port}/", 8 << 20
    config = "\n".join(f'next\nurl = "{url}{path[1:]}"\noutput = "/dev/null"\nrange = "{at}-{min(at + part, size) - 1}"'
                       for path, size in sizes.items() for at in range(0, size, part))
    (folder / "curl.txt").write_text(config.removeprefix("next\n"))
    curl = ["curl", "-s", "--parallel", "--parallel-immediate", "--parallel-max", str(typed.connections), "-K", folder / "curl.txt"]
    ours = [typed.ckpt, "convert", "-q", url, folder / "out", "--force"]
    local = [*ours[:3], model, *ours[4:]]
    size = sum(sizes.values())
    rates = {}
    for name, words in (("curl", curl), ("ckpt", ours), ("local", local)) * typed.runs:
        rates[name] = max(rates.get(name, 0), size / seconds(words) / 1e9)
        if words is ours:
            same = not filecmp.cmpfiles(model, folder / "out", [file.name for file in model.glob("*.safetensors")], shallow=False)[1]
print(json.dumps({"size_mb": size // 10**6, "files": typed.files, "connections": typed.connections, "latency_ms": typed.latency, "cut_percent": typed.cut,
                  **{name + "_gb_per_s": round(rate, 2) for name, rate in rates.items()}, "ratio": round(rates["ckpt"] / rates["curl"], 2), "same": same}))
