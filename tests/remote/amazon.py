"""The buckets of server.py at the hosts that they have at AWS (BUCKET.s3.REGION.amazonaws.com), behind a proxy, because their names lead elsewhere."""
import select
import socket
import threading
import urllib.parse

from server import mapped


class Amazon:
    """`environment` leads ckpt there; `asked` holds (host, path). A request for another region than `region` is refused as AWS refuses it."""

    def __init__(self, server, region):
        self.asked, amazon = [], self
        hosts = [f"{star}s3.{each}.amazonaws.com" for each in (region, "us-east-1") for star in ("", "*.")]

        class Hosts(server.servers[0].RequestHandlerClass):
            def answer(self):
                host, url, self.struck = self.headers["Host"], urllib.parse.urlsplit(self.path), {}
                amazon.asked.append((host, url.path))
                if f"s3.{region}." not in host or f"/{region}/s3/" not in self.headers.get("Authorization", ""):
                    text = b"<Error><Code>PermanentRedirect</Code><Message>another endpoint</Message></Error>"
                    return self.send(301, text, [("x-amz-bucket-region", region)], "application/xml")
                if (reason := self.wrong_signature(url)) is not None:
                    return self.send(403, f"<Error><Code>{reason}</Code></Error>".encode(), kind="application/xml")
                path = urllib.parse.unquote(url.path)[1:]
                bucket, _, key = path.partition("/") if host.startswith("s3.") else (host.partition(".s3.")[0], "", path)
                folder = server.root / "s3" / bucket
                if not key:
                    return self.s3_list(folder, dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True)))
                target = folder / key
                return self.file(mapped(target), self.etag(target)) if target.is_file() else self.send(404, b"<Error><Code>NoSuchKey</Code></Error>")

        origin, certificate = server.encrypt(Hosts, hosts)
        self.port = int(origin.rsplit(":", 1)[1])
        self.proxy = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()
        self.environment = {"https_proxy": f"http://127.0.0.1:{self.proxy.getsockname()[1]}", "no_proxy": "", "SSL_CERT_FILE": str(certificate),
                            "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": ""}

    def accept(self):
        while True:
            client = self.proxy.accept()[0]
            threading.Thread(target=self.tunnel, args=(client,), daemon=True).start()

    def tunnel(self, client):
        asked = b""
        while b"\r\n\r\n" not in asked:
            asked += client.recv(4096)
        server = socket.create_connection(("127.0.0.1", self.port))
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        with client, server:
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    (server if ready is client else client).sendall(data)
