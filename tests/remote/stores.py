"""A registry, a bucket and a hub on 127.0.0.1, as far as publishing needs them, with faults.

Each keeps what it received in dictionaries and every request in `log`, as (method, path, status, headers).
`faults` is a list of [pattern of "METHOD PATH", what, how often]: a number is answered as status, "cut" closes the
connection after half of the body, any other text is a name that the server below looks for.
"""
import base64
import hashlib
import http.server
import itertools
import json
import re
import threading
import urllib.parse

USER, PASSWORD = "tester", "pass-word:1"
BASIC = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
IDENTITY = "refresh+me/1="


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Store:
    """One server; a subclass answers with (status, headers, body)."""

    def __init__(self):
        self.log, self.faults, store = [], [], self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True   # headers and body are two writes

            def log_message(self, *_):
                pass

            def any(self):
                size = int(self.headers.get("Content-Length") or 0)
                fault = store.fault(self.command, self.path)
                if fault == "cut":
                    store.log.append((self.command, self.path, 0, dict(self.headers)))
                    store.cut(self.path, self.headers, self.rfile.read(size // 2))
                    self.close_connection = True
                    return self.connection.close()
                body = self.rfile.read(size)
                if isinstance(fault, int):
                    status, headers, answer = fault, {"Retry-After": "0"} if fault == 429 else {}, b"{}"
                else:
                    status, headers, answer = store.answer(self, body, fault)
                store.log.append((self.command, self.path, status, dict(self.headers)))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if self.command != "HEAD":
                    self.send_header("Content-Length", str(len(answer)))
                elif "Content-Length" not in headers:
                    self.send_header("Content-Length", "0")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer)

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = any

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None
        self.port = self.server.server_port
        self.origin = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def fault(self, method, path):
        for one in self.faults:
            if one[2] > 0 and re.search(one[0], f"{method} {path}"):
                one[2] -= 1
                return one[1]
        return None

    def cut(self, path, headers, body):
        pass

    def count(self, pattern):
        return sum(bool(re.search(pattern, f"{method} {path}")) for method, path, *_ in self.log)


def oci_error(status, code, headers=None):
    return status, headers or {}, json.dumps({"errors": [{"code": code, "message": "as asked"}]}).encode()


class Registry(Store):
    def __init__(self, auth="none", realm_host="127.0.0.1"):
        super().__init__()
        self.auth, self.realm_host = auth, realm_host
        self.blobs, self.manifests, self.sessions, self.tokens, self.asked = {}, {}, {}, set(), []
        self.numbers = itertools.count(1)

    def cut(self, path, headers, body):
        session = urllib.parse.urlsplit(path).path
        start = headers.get("Content-Range", "0").split("-")[0]
        if start == str(len(self.sessions.get(session, "gone"))):  # libcurl sends it twice where a kept connection breaks
            self.sessions[session] += body

    def answer(self, request, body, fault):
        method, url = request.command, urllib.parse.urlsplit(request.path)
        path, query = url.path, dict(urllib.parse.parse_qsl(url.query))
        given = request.headers.get("Authorization")
        if path == "/token":
            form = dict(urllib.parse.parse_qsl(body.decode())) if method == "POST" else {}
            self.asked.append((given, form or query))
            if given not in (None, BASIC) or method == "POST" and (form["grant_type"], form["refresh_token"]) != ("refresh_token", IDENTITY):
                return oci_error(401, "UNAUTHORIZED")
            given = given or form.get("refresh_token")
            token = f"token-{len(self.asked)}-{'push' if given else 'pull'}"
            self.tokens.add("Bearer " + token)
            return 200, {}, json.dumps({"token": token, "expires_in": 60}).encode()
        if self.auth == "basic" and given != BASIC:
            return oci_error(401, "UNAUTHORIZED", {"WWW-Authenticate": 'Basic realm="local"'})
        if self.auth == "token" and given not in self.tokens:
            realm = f"http://{self.realm_host}:{self.port}/token"
            return oci_error(401, "UNAUTHORIZED", {"WWW-Authenticate": f'Bearer realm="{realm}",service="local",scope="x"'})
        if self.auth == "token" and method not in ("HEAD", "GET") and not given.endswith("-push"):
            return oci_error(403, "DENIED")
        place = re.fullmatch(r"/v2/(.+)/(blobs/uploads|blobs|manifests)/([^/]*)", path)
        repository, kind, name = place.groups()
        if kind == "blobs":
            return self.blob(request, name)
        if kind == "manifests":
            return self.manifest(method, f"{repository}:{name}", body, fault)
        status, headers, answer = self.upload(method, path, query, request.headers, body)
        if fault == "other scheme" and "Location" in headers:
            headers["Location"] = self.origin.replace("http:", "https:") + headers["Location"]
        return status, headers, answer

    def blob(self, request, name):
        if name not in self.blobs or request.command == "HEAD":
            return (200 if name in self.blobs else 404), {}, b""
        data, asked = self.blobs[name], request.headers["Range"].removeprefix("bytes=").split("-")
        start, end = int(asked[0]), min(int(asked[1]), len(data) - 1)
        return 206, {"Content-Range": f"bytes {start}-{end}/{len(data)}"}, data[start:end + 1]

    def manifest(self, method, name, body, fault):
        if method == "PUT":
            parsed, place = json.loads(body), name.split(":")[0]
            blobs = [parsed["config"], *parsed["layers"]] if "config" in parsed else []
            named = [f"{place}:{one['digest']}" for one in parsed.get("manifests", [])]
            if any(one["digest"] not in self.blobs for one in blobs) or not all(one in self.manifests for one in named):
                return oci_error(400, "MANIFEST_BLOB_UNKNOWN")
            self.manifests[name] = body
            return 201, {"Docker-Content-Digest": digest_of(b"x" if fault == "digest" else body)}, b""
        if name not in self.manifests:
            return 404, {}, b""
        return 200, {"Docker-Content-Digest": digest_of(self.manifests[name])}, self.manifests[name]

    def upload(self, method, path, query, headers, body):
        if method == "POST":
            session = f"{path}{next(self.numbers)}"
            self.sessions[session] = b""
            return 202, {"Location": session + "?_state=0"}, b""
        if path not in self.sessions:
            return oci_error(404, "BLOB_UPLOAD_UNKNOWN")
        there = self.sessions[path]
        if method == "PATCH":
            start = int(headers["Content-Range"].split("-")[0])
            if start != len(there) or query.get("_state") != str(len(there)):
                return oci_error(416, "RANGE_INVALID")
            there = self.sessions[path] = there + body
        if method in ("PATCH", "GET"):
            state = {"Location": f"{path}?_state={len(there)}", "Range": f"0-{max(0, len(there) - 1)}"}
            return (202 if method == "PATCH" else 204), state, b""
        if digest_of(there + body) != query["digest"]:
            return oci_error(400, "DIGEST_INVALID")
        self.blobs[query["digest"]] = self.sessions.pop(path) + body
        return 201, {}, b""


def s3_error(status, code):
    return status, {}, f"<Error><Code>{code}</Code><Message>as asked</Message></Error>".encode()


class Bucket(Store):
    def __init__(self):
        super().__init__()
        self.objects, self.uploads, self.made = {}, {}, []
        self.region, self.says_region = "us-east-1", True

    def answer(self, request, body, fault):
        method, url = request.command, urllib.parse.urlsplit(request.path)
        key, query = urllib.parse.unquote(url.path), dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        if not request.headers.get("Authorization", "").startswith("AWS4-HMAC-SHA256 Credential=testkey/"):
            return s3_error(403, "AccessDenied")
        if f"/{self.region}/s3/" not in request.headers["Authorization"]:
            return 301, {"x-amz-bucket-region": self.region} if self.says_region else {}, b""
        sent = request.headers.get("x-amz-content-sha256")
        if sent != digest_of(body)[7:]:
            return s3_error(400, "XAmzContentSHA256Mismatch")
        checksum = request.headers.get("x-amz-checksum-sha256")
        if checksum and checksum != base64.b64encode(hashlib.sha256(body).digest()).decode():
            return s3_error(400, "BadDigest")
        taken = request.headers.get("If-None-Match") == "*" and key in self.objects
        note = request.headers.get("x-amz-meta-sha256")
        if method == "HEAD":
            if key not in self.objects:
                return 404, {}, b""
            data, noted = self.objects[key]
            return 200, {"Content-Length": str(len(data)), **({"x-amz-meta-sha256": noted} if noted else {})}, b""
        if method == "GET" and "uploads" in query:
            rows = "".join(f"<Upload><Key>{k.split('/', 2)[2]}</Key><UploadId>{u}</UploadId><Initiated>{u}</Initiated></Upload>"
                           for u, (k, *_) in self.uploads.items())
            return 200, {}, f"<ListMultipartUploadsResult>{rows}</ListMultipartUploadsResult>".encode()
        if "uploadId" in query or "uploads" in query:
            return self.parts(method, key, query, body, note, taken)
        if method == "PUT" and taken:
            return s3_error(412, "PreconditionFailed")
        self.objects[key] = (body, note)
        self.made.append(key)
        return 200, {"ETag": '"x"'}, b""

    def parts(self, method, key, query, body, note, taken):
        if method == "POST" and "uploads" in query:
            upload = f"u{len(self.uploads) + 1}"
            self.uploads[upload] = (key, note, {})
            return 200, {}, f"<R><UploadId>{upload}</UploadId></R>".encode()
        if query["uploadId"] not in self.uploads:
            return s3_error(404, "NoSuchUpload")
        _, noted, parts = self.uploads[query["uploadId"]]
        if method == "DELETE":
            del self.uploads[query["uploadId"]]
            return 204, {}, b""
        if method == "PUT":
            parts[int(query["partNumber"])] = body
            return 200, {"ETag": f'"{hashlib.md5(body).hexdigest()}"'}, b""
        if method == "GET":
            rows = "".join(f"<Part><PartNumber>{n}</PartNumber><Size>{len(b)}</Size><ETag>&quot;{hashlib.md5(b).hexdigest()}&quot;</ETag>"
                           f"<ChecksumSHA256>{base64.b64encode(hashlib.sha256(b).digest()).decode()}</ChecksumSHA256></Part>"
                           for n, b in sorted(parts.items()))
            return 200, {}, f"<ListPartsResult><IsTruncated>false</IsTruncated>{rows}</ListPartsResult>".encode()
        if taken:
            return s3_error(412, "PreconditionFailed")
        if re.findall(rb"<PartNumber>(\d+)<", body) != [str(n).encode() for n in sorted(parts)]:
            return s3_error(400, "InvalidPart")
        self.objects[key] = (b"".join(b for _, b in sorted(parts.items())), noted)
        self.made.append(key)
        del self.uploads[query["uploadId"]]
        return 200, {}, b"<CompleteMultipartUploadResult/>"


def git_id(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def commit_id(number):
    return f"{number:040x}"


class Hub(Store):
    """Its store of large files is another origin, which refuses requests with a token."""

    def __init__(self, token="hf_secret", part=1 << 20):
        super().__init__()
        self.token, self.part, self.objects, self.pieces = token, part, {}, {}
        self.files, self.head, self.commits = {}, commit_id(0), 0
        hub = self

        class Cdn(Store):
            def answer(self, request, body, fault):
                if "Authorization" in request.headers:
                    return 400, {}, b"one auth mechanism"
                _, _, oid, *part = request.path.split("/")
                if part:
                    hub.pieces[oid, int(part[0])] = body
                elif digest_of(body)[7:] != oid:
                    return 400, {}, b"digest"
                else:
                    hub.objects[oid] = body
                return 200, {"ETag": f'"{hashlib.md5(body).hexdigest()}"'}, b""

        self.cdn = Cdn()

    def answer(self, request, body, fault):
        path, given = urllib.parse.urlsplit(request.path).path, request.headers.get("Authorization")
        if path.startswith("/complete/"):
            oid, parts = path.split("/")[2], json.loads(body)["parts"]
            data = b"".join(self.pieces.pop((oid, p["partNumber"])) for p in sorted(parts, key=lambda p: p["partNumber"]))
            if given or digest_of(data)[7:] != oid:
                return 400, {}, b"{}"
            self.objects[oid] = data
            return 200, {}, b"{}"
        if given != "Bearer " + self.token:
            return 401, {"X-Error-Message": "Invalid credentials in Authorization header"}, b"{}"
        if path == "/verify":
            good = len(self.objects.get(json.loads(body)["oid"], b"")) == json.loads(body)["size"]
            return (200 if good else 404), {}, b"{}"
        if path.endswith("/revision/main") and path.startswith("/api/models/org/name/"):
            return 200, {}, json.dumps({"id": "org/name", "sha": self.head}).encode()
        if path.endswith("/preupload/main"):
            return 200, {}, json.dumps({"files": [self.mode(f) for f in json.loads(body)["files"]]}).encode()
        if path == "/org/name.git/info/lfs/objects/batch":
            return 200, {}, json.dumps({"objects": [self.action(o) for o in json.loads(body)["objects"]]}).encode()
        if path.endswith("/commit/main"):
            return self.commit(body, fault)
        return 404, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}, b"{}"

    def mode(self, file):
        lfs = file["size"] > 100_000 or file["path"].endswith((".gguf", ".safetensors"))
        assert len(base64.b64decode(file["sample"])) == min(512, file["size"])
        there = self.files.get(file["path"])
        oid = {} if there is None else {"oid": digest_of(there)[7:] if lfs else git_id(there)}
        return {"path": file["path"], "uploadMode": "lfs" if lfs else "regular", "shouldIgnore": False, **oid}

    def action(self, one):
        oid, size = one["oid"], one["size"]
        if oid in self.objects:
            return one
        put, parts = f"{self.cdn.origin}/up/{oid}", -(-size // self.part)
        upload = {"href": put}
        if parts > 1:
            upload = {"href": f"{self.origin}/complete/{oid}",
                      "header": {"chunk_size": str(self.part), **{f"{n:05d}": f"{put}/{n}" for n in range(1, parts + 1)}}}
        return {**one, "actions": {"upload": upload, "verify": {"href": f"{self.origin}/verify", "header": {}}}}

    def commit(self, body, fault):
        lines = [json.loads(line) for line in body.decode().splitlines()]
        if lines[0]["value"].get("parentCommit", self.head) != self.head:
            return 412, {"X-Error-Message": "The branch was updated since you opened this page"}, b"{}"
        for line in lines[1:]:
            value = line["value"]
            data = base64.b64decode(value["content"]) if line["key"] == "file" else self.objects.get(value["oid"])
            if data is None:
                return 400, {"X-Error-Message": "LFS pointer pointed to a file that does not exist"}, b"{}"
            self.files[value["path"]] = data
        self.commits += 1
        self.head = commit_id(self.commits)
        if fault == "lost":  # it came through, and the answer did not
            return 500, {}, b"{}"
        return 200, {}, json.dumps({"commitOid": self.head, "commitUrl": f"{self.origin}/org/name/commit/{self.head}"}).encode()
