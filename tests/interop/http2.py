#!/usr/bin/env python3
"""https:// inputs over HTTP/2: a server that speaks nothing else, with the library h2 (PyPI), on 127.0.0.1. Outputs equal those of local runs, each
request is one of HTTP/2, streams that are reset and connections that are left in the middle of a range are asked again for the rest, and answers
that break the protocol end in a sentence.

usage: http2.py CKPT TESTDATA FOLDER     installs into FOLDER; exits 77, saying "peer missing", where it cannot
"""
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

CKPT, TESTDATA, PEERS = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
PACKAGES = ["h2==4.4.1"]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "remote"))


def continue_in_python_with_h2():
    folder = PEERS / "http2"
    if not (folder / "done").exists():
        made = subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True)
        pip = [folder / "bin/python", "-m", "pip", "install", "-q", *PACKAGES]
        if made.returncode != 0 or subprocess.run(pip, capture_output=True).returncode != 0:
            print("peer missing: h2 (pip cannot install it)")
            sys.exit(77)
        (folder / "done").touch()
    os.execv(folder / "bin/python", [folder / "bin/python", __file__, *sys.argv[1:4], "--inside"])


if "--inside" not in sys.argv:
    continue_in_python_with_h2()

import h2.config
import h2.connection
import h2.events
from hyperframe.frame import GoAwayFrame

from server import Fault, make_certificate

PASSING, INTERNAL_ERROR, REFUSED_STREAM = 0, 2, 7   # codes of HTTP/2


class Http2Server:
    """Files below root/, by ranges. Faults: rst, goaway and drop after (bytes of a body, error); graceful: GOAWAY behind a whole body; more in answer()."""

    def __init__(self, root):
        self.root, self.faults, self.log, self.lock = root, [], [], threading.Lock()
        self.latency, self.at_once, self.most_at_once, self.numbers = 0.0, 0, 0, itertools.count()
        self.certificate, both = make_certificate(root.parent, ("localhost",))
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(both)
        self.context.set_alpn_protocols(["h2", "http/1.1"])
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.origin = f"https://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client = self.socket.accept()[0]
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            with self.context.wrap_socket(client, server_side=True) as tls:
                Connection(self, tls, next(self.numbers)).talk()
        except (OSError, h2.exceptions.ProtocolError):
            pass   # the client left


class Connection:
    def __init__(self, owner, tls, number):
        self.owner, self.tls, self.number, self.protocol = owner, tls, number, tls.selected_alpn_protocol()
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8", validate_outbound_headers=False))
        self.left, self.is_over = {}, False   # stream -> what is left of its body, and how it ends

    def talk(self):
        if self.protocol != "h2":
            self.owner.log.append({"protocol": self.protocol, "path": "", "range": None, "connection": self.number, "streams": 1})
            return
        self.h2.initiate_connection()
        self.tls.sendall(self.h2.data_to_send())
        while not self.is_over and (data := self.tls.recv(65536)):
            for event in self.h2.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    self.answer(event.stream_id, dict(event.headers))
                if isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)):
                    self.left.pop(getattr(event, "stream_id", None), None)
            self.send()
            self.tls.sendall(self.h2.data_to_send())

    def answer(self, stream, headers):
        owner, path = self.owner, headers[":path"]
        with owner.lock:
            struck = {fault.name: fault.value for fault in owner.faults if fault.strikes("", path)}
            owner.at_once += 1
            owner.most_at_once = max(owner.most_at_once, owner.at_once)
            owner.log.append({"protocol": self.protocol, "path": path, "range": headers.get("range"), "connection": self.number,
                              "streams": 1 + len(self.left)})
        time.sleep(owner.latency)
        with owner.lock:
            owner.at_once -= 1
        file = owner.root / path[1:]
        if not file.is_file():
            return self.h2.send_headers(stream, [(":status", "404"), ("content-length", "0")], end_stream=True)
        data = file.read_bytes()
        first, last = (int(word) for word in headers["range"].removeprefix("bytes=").split("-"))
        last = min(last, len(data) - 1)
        body = data[first:last + 1]
        said = [(":status", "206"), ("content-range", f"bytes {first}-{last}/{len(data)}"), ("etag", f'"{hashlib.md5(data).hexdigest()}"'),
                ("content-length", str(len(body) + struck.get("length", 0)))]
        if "interim" in struck:
            self.h2.send_headers(stream, [(":status", "103"), ("etag", '"early"')])
        if "bomb" in struck:   # few bytes on the wire, many when they are unpacked
            said += [("x-filler", "a" * 3000)] * struck["bomb"]
        if "status" in struck:
            said[0] = (":status", str(struck["status"]))
        self.h2.send_headers(stream, said)
        end = "trailers" if "trailers" in struck else "end"
        for name in ("rst", "goaway", "graceful", "drop"):
            if name in struck:
                size, error = struck[name]
                body, end = (body if name == "graceful" else body[:size]), (name, error)
        self.left[stream] = (memoryview(body), end)
        return None

    def send(self):
        for stream, (body, end) in list(self.left.items()):
            while body and (room := min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)) > 0:
                self.h2.send_data(stream, bytes(body[:room]))
                body = body[room:]
                self.tls.sendall(self.h2.data_to_send())
            self.left[stream] = (body, end)
            if not body:
                del self.left[stream]
                self.end(stream, end)

    def end(self, stream, end):
        if end == "end":
            return self.h2.end_stream(stream)
        if end == "trailers":
            return self.h2.send_headers(stream, [("etag", '"late"'), ("x-trailer", "1")], end_stream=True)
        name, error = end
        self.tls.sendall(self.h2.data_to_send())
        if name == "rst":
            return self.h2.reset_stream(stream, error)
        if name != "drop":   # frames of its own: the library would close the connection with it
            frame = GoAwayFrame(0, last_stream_id=stream if name == "graceful" else max(stream - 2, 0), error_code=error)
            self.tls.sendall(frame.serialize())
        if name == "graceful":
            return self.h2.end_stream(stream)
        self.is_over = True
        return None


def run(*words):
    done = subprocess.run([CKPT, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
                          env={**os.environ, "SSL_CERT_FILE": str(SERVER.certificate)})
    return done.returncode, done.stdout + done.stderr


def strike(*faults):
    SERVER.faults[:] = faults
    SERVER.log.clear()


def ranges(path):
    return [line["range"] for line in SERVER.log if line["path"].endswith(path)]


def is_http2():
    others = [line for line in SERVER.log if line["protocol"] != "h2"]
    assert SERVER.log and not others, ("not HTTP/2", others)


def converts_alike(words):
    code, text = run("convert", SERVER.origin + "/model/", "there.gguf", "--to", "q8_0", "--force")
    assert code == 0, (words, text)
    is_http2()
    assert pathlib.Path("there.gguf").read_bytes() == pathlib.Path("here.gguf").read_bytes(), words


def files_over_http2_give_the_bytes_of_a_local_run():
    for faults in ([], [Fault("interim")], [Fault("trailers")]):
        strike(*faults)
        converts_alike(faults)
    code, text = run("verify", SERVER.origin + "/model/")
    assert code == 0 and "SHA-256 of" in text, text


def ranges_have_a_connection_each_and_keep_it():
    size = 48 << 20
    header = json.dumps({f"w{number}": {"dtype": "U8", "shape": [size // 4], "data_offsets": [number * size // 4, (number + 1) * size // 4]}
                         for number in range(4)}).encode()
    data = struct.pack("<Q", len(header)) + header + os.urandom(size)
    (SERVER.root / "wide.safetensors").write_bytes(data)
    strike()
    SERVER.latency, SERVER.most_at_once = 0.1, 0
    code, text = run("convert", SERVER.origin + "/wide.safetensors", "wide", "--threads", "1", "--memory", "128M", "--header-slack", "4096")
    SERVER.latency = 0
    assert code == 0, text
    is_http2()
    made = next(pathlib.Path("wide").glob("*.safetensors")).read_bytes()
    assert made[-size:] == data[-size:]
    used = [line["connection"] for line in SERVER.log]
    assert all(line["streams"] == 1 for line in SERVER.log), "ranges share a connection"
    assert SERVER.most_at_once >= 4, SERVER.most_at_once
    assert len(used) > len(set(used)), "no connection was used twice"
    print(f"  {len(used)} requests over {len(set(used))} connections, {SERVER.most_at_once} at once")


def ranges_that_end_early_are_continued():
    ends = (("rst", INTERNAL_ERROR), ("rst", REFUSED_STREAM), ("goaway", PASSING), ("drop", PASSING))
    for (name, error), size in itertools.product(ends, (0, 3000)):
        strike(Fault(name, (size, error), "*/model.safetensors", times=2, skip=1))
        converts_alike((name, error, size))
        asked = ranges("/model.safetensors")
        starts = [int(each.removeprefix("bytes=").split("-")[0]) for each in asked]
        continued = [start for start in starts if start - 3000 in starts]
        assert bool(continued) == (size > 0), (name, error, size, asked)
        assert size > 0 or len(asked) > len(set(asked)), (name, error, asked)
    strike(Fault("graceful", (0, PASSING), "*"))   # each answer is whole, and the last of its connection
    converts_alike("graceful")
    strike(Fault("status", 503, "*/model.safetensors", times=2))
    converts_alike("status")


def a_range_whose_bytes_all_came_is_not_asked_for_again():
    for name in ("rst", "goaway"):
        strike(Fault(name, (1 << 30, INTERNAL_ERROR), "*/model.safetensors"))
        converts_alike(name)
        asked = ranges("/model.safetensors")
        assert len(asked) == len(set(asked)), asked


def answers_that_break_the_protocol_end_in_a_sentence():
    for words, fault in (("", Fault("bomb", 30, "*/config.json")), ("", Fault("bomb", 3000, "*/config.json")), ("", Fault("length", 1, "*/config.json")),
                         ("", Fault("length", -1, "*/config.json")), ("answered 403", Fault("status", 403, "*/config.json"))):
        strike(fault)
        start = time.monotonic()
        code, text = run("convert", SERVER.origin + "/model/", "refused.gguf")
        lines = [line for line in text.splitlines() if line]
        is_fine = code == 2 and len(lines) == 1 and words in text and "config.json" in text and not os.path.exists("refused.gguf")
        assert is_fine and time.monotonic() - start < 60, (fault.name, fault.value, code, text)


TESTS = [files_over_http2_give_the_bytes_of_a_local_run, ranges_have_a_connection_each_and_keep_it, ranges_that_end_early_are_continued,
         a_range_whose_bytes_all_came_is_not_asked_for_again, answers_that_break_the_protocol_end_in_a_sentence]
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    root = pathlib.Path(folder) / "served"
    shutil.copytree(TESTDATA / "qwen35-micro", root / "model")
    subprocess.run([CKPT, "publish", "-q", root / "model"], check=True, stdout=subprocess.DEVNULL)
    SERVER = Http2Server(root)
    assert run("convert", root / "model", "here.gguf", "--to", "q8_0")[0] == 0
    for test in TESTS:
        start = time.monotonic()
        test()
        print(f"{test.__name__}: as expected ({time.monotonic() - start:.1f} s)")
