"""A hub, a server of files and S3 on 127.0.0.1, for tests: all in one process, with faults that strike chosen requests.

    hub    /api/models/O/N/revision/REV, /api/models/O/N/tree/COMMIT, /O/N/resolve/COMMIT/PATH (to a second origin, the CDN, for large files)
    files  /web/PATH, with ranges
    S3     /s3/BUCKET?list-type=2..., /s3/BUCKET/KEY; signatures are checked

Server(root, ...): root/hub/ORG/NAME/, root/web/, root/s3/BUCKET/. tests/remote/sources.py uses it; tests/remote/peers.py lets the real
huggingface_hub read from it, so that it cannot differ from a hub where that client looks.
"""
import email.utils
import fnmatch
import gzip
import hashlib
import hmac
import json
import mmap
import os
import pathlib
import socket
import ssl
import struct
import subprocess
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LARGE = ("*.safetensors", "*.gguf", "*.bin", "*.model")
KEYS = {"testkey": "testsecret"}


class Fault:
    """Strikes `times` requests whose path matches, after `skip` of them. `only`: hub or cdn."""

    def __init__(self, name, value=0, path="*", times=1 << 60, skip=0, only="*"):
        self.name, self.value, self.path, self.times, self.skip, self.only = name, value, path, times, skip, only

    def strikes(self, at, path):
        if not fnmatch.fnmatch(path, self.path) or not fnmatch.fnmatch(at, self.only):
            return False
        self.skip, self.times = self.skip - 1, self.times - (self.skip <= 0)
        return self.skip < 0 <= self.times


class Server:
    def __init__(self, root, token="", page=1000, latency=0.0):
        self.root, self.token, self.page, self.latency = pathlib.Path(root), token, page, latency
        self.faults, self.log, self.lock, self.made_up, self.heads = [], [], threading.Lock(), [], {}
        self.at_once = 0   # requests that are being answered
        self.waiting, self.most_at_once = 0, 0   # those of which nothing was sent: nobody can have asked again instead
        kinds = [type(at, (Handler,), {"owner": self, "at": at}) for at in ("hub", "cdn")]
        self.maker = maker = type("Maker", (ThreadingHTTPServer,), {"request_queue_size": 128, "handle_error": lambda *_: None, "daemon_threads": True})
        self.servers = [maker(("127.0.0.1", 0), kind) for kind in kinds]
        self.origin, self.cdn = (f"http://127.0.0.1:{server.server_port}" for server in self.servers)
        for server in self.servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def encrypt(self, handler=None, hosts=("localhost",)):
        """The same by HTTPS too: gives the origin, and the PEM of a certificate for 127.0.0.1 and `hosts` that signed itself."""
        certificate, both = make_certificate(self.root, hosts)
        server = self.maker(("127.0.0.1", 0), handler or self.servers[0].RequestHandlerClass)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(both)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"https://127.0.0.1:{server.server_port}", certificate

    def files(self, repository):
        folder = self.root / "hub" / repository
        return {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}

    def commit(self, repository):
        """A digest of names and contents: another content is another commit."""
        digest = hashlib.sha1()
        for name, path in self.files(repository).items():
            digest.update(f"{name}\0{digest_of('sha1', path)}".encode())
        return digest.hexdigest()

    def environment(self):
        return {"HF_ENDPOINT": self.origin, "HF_TOKEN": self.token, "HF_HOME": str(self.root / "hf_home"), "AWS_ACCESS_KEY_ID": "testkey",
                "AWS_SECRET_ACCESS_KEY": "testsecret", "AWS_ENDPOINT_URL": self.origin + "/s3", "AWS_REGION": "us-east-1",
                "AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", "AWS_PROFILE": "", "AWS_SESSION_TOKEN": ""}


def make_certificate(folder, hosts):
    """The PEM of a certificate for 127.0.0.1 and `hosts` that signed itself, and one with its key too."""
    certificate, both = folder / "server.pem", folder / "server-and-key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=test",
             "-addext", "subjectAltName=" + "".join(f"DNS:{host}," for host in hosts) + "IP:127.0.0.1", "-keyout", both, "-out", certificate]
    subprocess.run(words, check=True, capture_output=True)
    both.write_text(both.read_text() + certificate.read_text())
    return certificate, both


def mapped(path):
    """What slices and len() take as bytes; a range of a large file costs no more than the range."""
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) if os.path.getsize(path) else b""


DIGESTS = {}


def digest_of(kind, path):
    """Computed once for each state of the file."""
    now = os.stat(path)
    key = (kind, str(path), now.st_mtime_ns, now.st_size, now.st_ino)
    if key not in DIGESTS:
        DIGESTS[key] = hashlib.new(kind, path.read_bytes()).hexdigest()
    return DIGESTS[key]


def git_sha1(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def quote(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-._~")


class Handler(BaseHTTPRequestHandler):
    protocol_version, log_message = "HTTP/1.1", lambda *_: None
    disable_nagle_algorithm = True   # headers and body are two writes

    def send(self, status, body=b"", headers=(), kind="application/json"):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        if "endless" in self.struck:
            return self.send_without_end(status, headers)
        if "chunked" in self.struck:
            return self.send_in_chunks(status, body, headers)
        self.send_response(status)
        for name, value in [*headers, ("Content-Type", kind), ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        if "headers" in self.struck:
            self.send_header("X-Filler", "a" * self.struck["headers"])
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)
        self.note(status, len(body))
        return None

    def send_in_chunks(self, status, body, headers):
        """Behind interim answers, and with trailers that contradict the headers."""
        self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nETag: \"early\"\r\nContent-Range: bytes 0-0/1\r\n\r\n")
        self.send_response(status)
        for name, value in [*headers, ("Transfer-Encoding", "chunked")]:
            self.send_header(name, value)
        self.end_headers()
        for start in range(0, len(body), 1000):
            part = body[start:start + 1000]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\nETag: \"late\"\r\nContent-Encoding: gzip\r\nHTTP/1.1: 500 No\r\n\r\n")
        self.note(status, len(body))

    def send_without_end(self, status, headers):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        for _ in range(4096):
            self.wfile.write(b"\0" * 65536)

    def note(self, status, sent):
        with self.owner.lock:
            self.log.append({"at": self.at, "method": self.command, "path": self.path, "status": status, "sent": sent,
                                   "range": self.headers.get("Range"), "token": "Authorization" in self.headers})

    def file(self, data, headers=()):
        """`data`, or the range of it that was asked for; faults of bodies strike here."""
        struck, status, first, last = self.struck, 200, 0, len(data) - 1
        asked = self.headers.get("Range", "")
        if asked.startswith("bytes=") and "whole" not in struck:
            a, b = asked[6:].split("-")
            first, last, status = int(a), min(int(b) if b else last, last), 206
            if first > last:
                return self.send(416, b"", [("Content-Range", f"bytes */{len(data)}")])
            last = (first + last) // 2 if "short" in struck else last
            shift = "shifted" in struck
            headers = [*headers, ("Content-Range", f"bytes {first + shift}-{last + shift}/{len(data) + shift}")]
        body = data[first:last + 1]
        if "flip" in struck:
            body = body[:len(body) // 2] + bytes([body[len(body) // 2] ^ 1]) + body[len(body) // 2 + 1:]
        if "last" in struck and last == len(data) - 1:
            body = body[:-1] + bytes([body[-1] ^ 1])
        if "gzip" in struck:
            body, headers = gzip.compress(body), [*headers, ("Content-Encoding", "gzip")]
        if not {"cut", "reset"} & set(struck):
            return self.send(status, body, headers, "application/octet-stream")
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.close_connection = True
        sent = body[:struck.get("cut", struck.get("reset"))]
        self.wfile.write(sent)
        self.note(status, len(sent))
        if "reset" in struck:
            self.wfile.flush()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(self.connection.detach())
        return None

    def answer(self):
        url = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(url.path)
        with self.owner.lock:
            self.struck = {fault.name: fault.value for fault in self.owner.faults if fault.strikes(self.at, path)}
            self.owner.waiting += 1
            self.owner.most_at_once = max(self.owner.most_at_once, self.owner.waiting)
        time.sleep(self.owner.latency)
        with self.owner.lock:
            self.owner.waiting -= 1
        for name, status, header in (("429", 429, "Retry-After"), ("redirect", 302, "Location"), ("status", 0, "X-Status")):
            if name in self.struck:
                return self.send(status or self.struck["status"], {"error": "as asked"}, [(header, str(self.struck[name]))])
        if self.owner.at_once > self.struck.get("crowd", 1000):
            return self.send(429, {"error": "too many at once"})
        if "ratelimit" in self.struck:
            return self.send(429, {}, [("ratelimit", f'"resolvers";r=0;t={self.struck["ratelimit"]}')])
        if self.at == "cdn":
            return self.from_cdn(path)
        if path.startswith("/web/"):
            target = self.owner.root / self.struck.get("page", path[1:])
            known = target.is_file() and ".." not in path
            if known and {"answer", "early"} & set(self.struck):
                return self.send_list(target.read_bytes())
            return self.file(mapped(target), self.etag(target)) if known else self.send(404)
        if path.startswith("/s3/"):
            return self.s3(url, path)
        if self.owner.token and self.headers.get("Authorization") != "Bearer " + self.owner.token:
            return self.hub_error(401, "RepoNotFound", "Invalid username or password.")
        return self.hub([urllib.parse.unquote(word) for word in url.path.strip("/").split("/")], url)

    def etag(self, target):
        """What tells this state of the file: an ETag, or by a fault Last-Modified alone (so many seconds later) or nothing."""
        if "stateless" in self.struck:
            return []
        if "modified" in self.struck:
            return [("Last-Modified", email.utils.formatdate(int(target.stat().st_mtime) + self.struck["modified"], usegmt=True))]
        tag = hashlib.md5(os.urandom(8)).hexdigest() if "etag" in self.struck else digest_of("md5", target)
        return [("ETag", f'"{tag}"')]

    def from_cdn(self, path):
        if "Authorization" in self.headers:   # as object stores do
            return self.send(400, b"<Error><Code>InvalidArgument</Code></Error>", kind="application/xml")
        target = self.owner.root / "hub" / path[1:]
        return self.file(mapped(target), self.etag(target)) if target.is_file() else self.send(404)

    def hub_error(self, status, code, text):
        self.send(status, {"error": text}, [("X-Error-Code", code), ("X-Error-Message", text)])

    def hub(self, words, url):
        owner = self.owner
        if words[0] == "api" and words[1] == "resolve-cache":
            repository, commit, name = "/".join(words[3:5]), words[5], "/".join(words[6:])
            data = owner.files(repository)[name].read_bytes()
            return self.file(data, [("ETag", f'"{git_sha1(data)}"'), *self.commit_header(commit)])
        is_api = words[0] == "api"
        repository = "/".join(words[2:4] if is_api else words[:2])
        verb, rest = (words[4:5] or ["revision"])[0] if is_api else words[2], words[5:] if is_api else words[3:]
        files = owner.files(repository)
        if not files:
            return self.hub_error(404, "RepoNotFound", "Repository not found")
        now = owner.commit(repository)
        commit = now if not rest or rest[0] in ("main", "v1", now, "refs/pr/1") else None
        commit = owner.heads.get((repository, rest[0] if rest else "main"), commit)
        if commit is None:
            return self.hub_error(404, "RevisionNotFound", f"Invalid rev id: {rest[0]}")
        if verb == "revision":
            return self.send(200, {"id": repository, "sha": commit, "siblings": [{"rfilename": name} for name in files]})
        if verb == "tree":
            return self.tree(files, urllib.parse.parse_qs(url.query), self.commit_header(commit))
        return self.resolve(repository, commit, "/".join(rest[1:]), files)

    def commit_header(self, commit):
        """By a fault another one, or none."""
        commit = self.struck.get("commit", commit)
        return [] if commit is None else [("X-Repo-Commit", commit)]

    def tree(self, files, query, headers):
        rows = []
        for name, path in files.items():
            data = path.read_bytes()
            row = {"type": "file", "oid": git_sha1(data), "size": len(data), "path": name}
            if any(fnmatch.fnmatch(name, pattern) for pattern in LARGE):
                row["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
            if self.struck.get("bare") == name:
                del row["oid"]
            rows.append(row)
        rows += [{"type": "directory", "oid": "0" * 40, "size": 0, "path": folder} for folder in sorted({name.split("/")[0] for name in files if "/" in name})]
        rows += [{"type": "file", "oid": "0" * 40, "size": 1, "path": name} for name in self.owner.made_up]
        start = 0 if "again" in self.struck else int(query.get("cursor", ["0"])[0])
        end = start + self.owner.page
        path = self.path.split("?")[0]
        link = f"<{self.owner.origin}{path}?recursive=true&expand=false&cursor={end}>"
        before = f"<{self.owner.origin}{path}>; rel=prev, " if "links" in self.struck else ""
        more = [("Link", self.struck.get("link", f'{before}{link}; rel="next"'))] if end < len(rows) else []
        if "again" in self.struck:   # the next page is this one, or has another name and the same rows
            start, end = (0, self.owner.page) if self.struck["again"] == "other" else (start, end)
            more = [("Link", f"<{self.path if self.struck['again'] == 'self' else f'{path}?cursor={time.monotonic_ns()}'}>; rel=\"next\"")]
        self.send_list(json.dumps(rows[start:end]).encode(), [*headers, *more])

    def resolve(self, repository, commit, name, files):
        if name not in files:
            return self.hub_error(404, "EntryNotFound", "Entry not found")
        data, head = files[name].read_bytes(), self.commit_header(commit)
        if any(fnmatch.fnmatch(name, pattern) for pattern in LARGE):
            digest = hashlib.sha256(data).hexdigest()
            if "stale" in self.struck:
                digest = "0" * 64
            return self.send(302, b"", [*head, ("X-Linked-Size", str(len(data))), ("X-Linked-ETag", f'"{digest}"'), ("ETag", f'"{digest}"'),
                                        ("Location", f"{self.owner.cdn}/{quote(repository, '/')}/{quote(name, '/')}?signature=secret")])
        return self.send(307, b"", [*head, ("ETag", f'"{git_sha1(data)}"'),
                                    ("Location", f"/api/resolve-cache/models/{quote(repository, '/')}/{commit}/{quote(name, '/')}")])

    def send_list(self, body, headers=(), kind="application/json"):
        """Faults of lists: another answer, one that ends too early without saying so, and an edit."""
        if "edit" in self.struck:
            old, new = self.struck["edit"]
            assert old in body, (old, body)
            body = body.replace(old, new)
        body = self.struck.get("answer", body)
        if "early" not in self.struck:
            return self.send(200, body, headers, kind)
        self.send_response(200)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self.wfile.write(body[:len(body) * 2 // 3])
        return self.note(200, len(body) * 2 // 3)

    # ---- S3 ------------------------------------------------------------------------------------

    def s3(self, url, path):
        if (reason := self.wrong_signature(url)) is not None:
            return self.send(403, f"<Error><Code>{reason}</Code><Message>as computed</Message></Error>".encode(), kind="application/xml")
        bucket, _, key = path[4:].partition("/")
        folder = self.owner.root / "s3" / bucket
        if not folder.is_dir():
            return self.send(404, b"<Error><Code>NoSuchBucket</Code></Error>", kind="application/xml")
        if not key:
            return self.s3_list(folder, dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True)))
        target = folder / key
        return self.file(mapped(target), self.etag(target)) if target.is_file() else self.send(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def s3_list(self, folder, query):
        keys = [key for key in sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) if key.startswith(query["prefix"])]
        start = int(query.get("continuation-token", "0"))
        end = start + self.owner.page
        rows = ""
        for key in keys[start:end]:
            data = (folder / key).read_bytes()
            name = key.replace("&", "&amp;")
            rows += f"<Contents><Key>{name}</Key><Size>{len(data)}</Size><ETag>&quot;{hashlib.md5(data).hexdigest()}&quot;</ETag></Contents>"
        more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{end}</NextContinuationToken>" if end < len(keys) else ""
        rows = (more or "<IsTruncated>false</IsTruncated>") + rows
        self.send_list(f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{rows}</ListBucketResult>\n'.encode(), kind="application/xml")

    def wrong_signature(self, url):
        """None, or S3's code. The canonical request is made from the URL decoded and encoded again, as servers do."""
        words = self.headers.get("Authorization", "")
        fields = dict(part.strip().split("=", 1) for part in words.removeprefix("AWS4-HMAC-SHA256").split(",") if "=" in part)
        key, _, scope = fields.get("Credential", "").partition("/")
        if key not in KEYS:
            return "AccessDenied"
        path = quote(urllib.parse.unquote(url.path), "/")
        query = "&".join(sorted(f"{quote(name)}={quote(value)}" for name, value in urllib.parse.parse_qsl(url.query, keep_blank_values=True)))
        names = fields["SignedHeaders"].split(";")
        lines = "".join(f"{name}:{self.headers.get(name, '').strip()}\n" for name in names)
        if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(names):
            return "AccessDenied"
        canonical = "\n".join([self.command, path, query, lines, fields["SignedHeaders"], self.headers["x-amz-content-sha256"]])
        text = "\n".join(["AWS4-HMAC-SHA256", self.headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
        secret = ("AWS4" + KEYS[key]).encode()
        for part in scope.split("/"):
            secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
        return None if hmac.new(secret, text.encode(), hashlib.sha256).hexdigest() == fields["Signature"] else "SignatureDoesNotMatch"

    def counted_answer(self):
        with self.owner.lock:
            self.owner.at_once += 1
            self.log = self.owner.log   # a request belongs to the log of the moment in which it came
        try:
            self.answer()
        finally:
            with self.owner.lock:
                self.owner.at_once -= 1

    do_GET = do_HEAD = counted_answer
