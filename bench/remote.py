#!/usr/bin/env python3
"""The rate at which ckpt reads a file from a server on this machine, as a ratio to curl with as many connections.

usage: bench/remote.py CKPT [--size MB] [--latency MS] [--rate MB] [--cut PERCENT] [--runs N]

A GGUF of SIZE (default 2000 MB) is copied by `ckpt convert URL OUT` to /dev/shm, and from a local file; curl writes the same ranges to
/dev/null. --latency waits before each answer, --rate is what each connection gets in a second, --cut ends so many of a hundred answers to ckpt in the middle.
"""
import argparse
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
for name, default in (("size", 2000), ("latency", 0), ("rate", 0), ("cut", 0), ("runs", 3), ("connections", os.cpu_count() + 16)):
    typed.add_argument("--" + name, type=float if name == "latency" else int, default=default)
typed = typed.parse_args()
cuts = random.Random(1)


class Handler(BaseHTTPRequestHandler):
    protocol_version, log_message = "HTTP/1.1", lambda *_: None

    def do_GET(self):
        time.sleep(typed.latency / 1000)
        size = os.fstat(MODEL.fileno()).st_size
        if not self.path.endswith(".gguf") or "Range" not in self.headers:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        first, last = (int(part) for part in self.headers["Range"][6:].split("-"))
        last = min(last, size - 1)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        self.wfile.flush()
        end = last + 1
        if "curl" not in self.headers["User-Agent"] and cuts.random() * 100 < typed.cut:
            end, self.close_connection = (first + last) // 2, True
        piece, start, begun = (typed.rate * 20_000 or 1 << 62), first, time.monotonic()
        while first < end:
            first += os.sendfile(self.connection.fileno(), MODEL.fileno(), first, min(piece, end - first))
            if typed.rate:
                time.sleep(max(0, begun + (first - start) / (typed.rate * 1e6) - time.monotonic()))


def write_model(path):
    """One F32 tensor of the size that was asked for."""
    values = typed.size * 1_000_000 // 4 // 4096 * 4096
    text = lambda word: struct.pack("<Q", len(word)) + word
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + text(b"general.architecture") + struct.pack("<I", 8) + text(b"llama")
    head += text(b"blk.0.ffn_up.weight") + struct.pack("<IQQIQ", 2, 4096, values // 4096, 0, 0)
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32))
        block = os.urandom(1 << 20)
        block = bytes(byte & 0x3f for byte in block)   # finite values
        for at in range(0, values * 4, len(block)):
            file.write(block[:min(len(block), values * 4 - at)])


def seconds(words):
    start = time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
    folder = pathlib.Path(folder)
    write_model(folder / "model.gguf")
    MODEL = open(folder / "model.gguf", "rb")
    size = os.fstat(MODEL.fileno()).st_size
    server = type("Server", (ThreadingHTTPServer,), {"request_queue_size": 128, "handle_error": lambda *_: None})(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url, part = f"http://127.0.0.1:{server.server_port}/model.gguf", 8 << 20
    config = "\n".join(f'next\nurl = "{url}"\noutput = "/dev/null"\nrange = "{at}-{min(at + part, size) - 1}"' for at in range(0, size, part))
    (folder / "curl.txt").write_text(config.removeprefix("next\n"))
    curl = ["curl", "-s", "--parallel", "--parallel-immediate", "--parallel-max", str(typed.connections), "-K", folder / "curl.txt"]
    ours = [typed.ckpt, "convert", "-q", url, folder / "out.gguf", "--force"]
    local = [*ours[:3], folder / "model.gguf", *ours[4:]]
    rates = {}
    for name, words in (("curl", curl), ("ckpt", ours), ("local", local)) * typed.runs:
        rates[name] = max(rates.get(name, 0), size / seconds(words) / 1e9)
    same = subprocess.run(["cmp", "-s", folder / "model.gguf", folder / "out.gguf"]).returncode == 0
print(json.dumps({"size_mb": size // 10**6, "connections": typed.connections, "latency_ms": typed.latency, "cut_percent": typed.cut,
                  **{name + "_gb_per_s": round(rate, 2) for name, rate in rates.items()}, "ratio": round(rates["ckpt"] / rates["curl"], 2), "same": same}))
