#!/usr/bin/python3
# testsuite/t/web_job.py - a small web server for jobs: says what it hears, and misbehaves when asked to.
#
# usage: web_job.py PORT LOG. Every request is a line in LOG, and so is the end of a held connection.
import base64
import hashlib
import http.server
import os
import struct
import sys

port, log_path = int(sys.argv[1]), sys.argv[2]


def note(text):
    with open(log_path, "a") as log:
        log.write(text + "\n")


def read_exactly(stream, size):
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def name(self):
        return self.path.split("?")[0].rsplit("/", 1)[-1]

    def reply(self, text, *headers, status=200):
        body = text.encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def begin_chunks(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def do_GET(self):
        note(f"{self.command} {self.path}")
        action = getattr(self, "get_" + self.name().replace("-", "_"), None)
        if action:
            return action()
        lines = "".join(f"{name}: {value}\n" for name, value in self.headers.items())
        self.reply(f"{self.command} {self.path}\n{lines}")

    do_HEAD = do_GET

    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                yield read_exactly(self.rfile, size)
                self.rfile.readline()
            self.rfile.readline()
            return
        left = int(self.headers.get("Content-Length", "0"))
        while left:
            data = read_exactly(self.rfile, min(left, 65536))
            left -= len(data)
            yield data

    def do_POST(self):
        note(f"POST {self.path}")
        if self.name() == "early":
            self.close_connection = True
            return self.reply("enough\n", ("Connection", "close"), status=413)
        if self.name() == "echo":  # answers while it still reads
            self.begin_chunks()
            for data in self.body():
                self.chunk(data)
            return self.chunk(b"")
        total, digest = 0, hashlib.sha256()
        for data in self.body():
            total += len(data)
            digest.update(data)
        self.reply(f"{total} {digest.hexdigest()}\n")

    def get_cookies(self):
        self.reply(
            "set\n",
            ("Set-Cookie", "rota-1-80=stolen; Path=/"),
            ("Set-Cookie", "wide=1; Path=/; Domain=localhost"),
            ("Service-Worker-Allowed", "/"),
        )

    def get_away(self):
        self.reply("", ("Location", self.path.replace("away", "there")), status=302)

    def get_big(self):
        self.begin_chunks()
        block = bytes(range(256)) * 256
        for _ in range(512):
            self.chunk(block)
        self.chunk(b"")

    def get_drip(self):  # the second half comes once the first was seen
        self.begin_chunks()
        self.chunk(b"first\n")
        with open(log_path + ".go") as go:
            go.read()
        self.chunk(b"second\n")
        self.chunk(b"")

    def get_until_end(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"all there is\n")
        self.close_connection = True

    def get_broken(self):
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"half")
        self.close_connection = True

    def get_nonsense(self):
        self.wfile.write(b"this is no HTTP\r\n\r\n")
        self.close_connection = True

    def get_hold(self):
        self.begin_chunks()
        self.chunk(b"held\n")
        self.rfile.read(1)
        note("released")
        self.close_connection = True

    def get_ws(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.send_header("Sec-WebSocket-Accept", accept)
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                first, size = read_exactly(self.rfile, 2)
                size &= 127
                if size == 126:
                    (size,) = struct.unpack(">H", read_exactly(self.rfile, 2))
                elif size == 127:
                    (size,) = struct.unpack(">Q", read_exactly(self.rfile, 8))
                mask = read_exactly(self.rfile, 4)
                data = bytearray(read_exactly(self.rfile, size))
                for i in range(4):
                    data[i::4] = bytes(byte ^ mask[i] for byte in data[i::4])
                head = bytes([first])
                if size < 126:
                    head += bytes([size])
                else:
                    head += bytes([127]) + struct.pack(">Q", size)
                self.wfile.write(head + data)
                if first & 15 == 8:
                    return
        except EOFError:
            note("ws gone")


server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
server.daemon_threads = True
note(f"listens {os.getpid()} {os.environ.get('ROTA_BASE_URL', '')} {os.environ.get('ROTA_URL', '')} {os.environ.get('ROTA_PORT', '')}")
server.serve_forever()
