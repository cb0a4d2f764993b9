"""What an h11 client reads in replies: a line with a method and hex in, a verdict out.

T STATUS BODY   read, with this body in hex
R               refused, or incomplete
"""
import sys

import h11


def verdict(method, data):
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=256 << 10)
    connection.send(h11.Request(method=method, target="/", headers=[("Host", "a")]))
    connection.send(h11.EndOfMessage())
    status, body = None, b""
    try:
        connection.receive_data(data)
        connection.receive_data(b"")
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return f"T {status} {body.hex()}"
            elif not isinstance(event, h11.InformationalResponse):
                return "R"
    except h11.RemoteProtocolError:
        return "R"


for line in sys.stdin:
    method, _, data = line.rstrip("\n").partition(" ")
    print(verdict(method, bytes.fromhex(data)), flush=True)
