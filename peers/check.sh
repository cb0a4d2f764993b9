#!/usr/bin/env bash
# Builds every peer and makes sure that each one echoes: messages of 1 B, 1000 B and 64 KiB, over two connections at a
# time, in each of its modes. Names the peers that fail. Usage: peers/check.sh [PEER...]; port 7199, or $PORT.
set -u
cd "$(dirname "$0")" || exit 1
./build.sh "$@" || exit
exec python3 - "${PORT:-7199}" "$@" <<'PYTHON'
import os, socket, subprocess, sys, tempfile, time

PORT, WANTED = int(sys.argv[1]), sys.argv[2:]
CORE = max(os.sched_getaffinity(0))  # The last one: the first serves interrupts.
MODES = [
    "ring-loop", "ring-loop --message 16KiB", "epoll-loop", "tokio", "tokio --scheduler multi-thread", "monoio", "monoio --ring deferred",
    "glommio", "glommio --idle spin", "compio", "compio --ring default", "go",
]


def connect():
    return socket.create_connection(("127.0.0.1", PORT), timeout=60)


def until(what, condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(what)
        time.sleep(0.01)


def accepts():
    try:
        connect().close()
        return True
    except OSError:
        return False


def receive(connection, count):
    received = b""
    while len(received) < count:
        part = connection.recv(count - len(received))
        if not part:
            raise RuntimeError(f"closed after {len(received)} of {count} bytes")
        received += part
    return received


def check(server):
    def ready():
        if server.poll() is not None:
            raise RuntimeError(f"ended with status {server.returncode}")
        return accepts()

    until("does not accept connections", ready)
    connections = [connect(), connect()]
    for size in (1, 64 << 10, 1000):  # A short one after a long one finds what is left of the long one.
        messages = [os.urandom(size) for _ in connections]
        for connection, message in zip(connections, messages):
            connection.sendall(message)
        for connection, message in zip(connections, messages):
            if receive(connection, size) != message:
                raise RuntimeError(f"changed a message of {size} bytes")
    for connection in connections:
        connection.shutdown(socket.SHUT_WR)
        if connection.recv(1):
            raise RuntimeError("sent more than it received")
        connection.close()


if accepts():
    sys.exit(f"peers/check.sh: port {PORT} is taken; stop its server or choose another with PORT=7299 peers/check.sh")
failed = []
modes = [mode for mode in MODES if not WANTED or mode.split()[0] in WANTED]
for mode in modes:
    peer, *flags = mode.split()
    command = [f"bin/{peer}", "--listen", f"127.0.0.1:{PORT}", "--cores", str(CORE), *flags]
    with tempfile.TemporaryFile("w+") as said:
        server = subprocess.Popen(command, stderr=said)
        try:
            check(server)
            print(f"ok      {mode}", flush=True)
        except (RuntimeError, OSError) as error:
            said.seek(0)
            print(f"FAILED  {mode}: {error}; it said: {said.read().strip() or 'nothing'}", flush=True)
            failed.append(mode)
        finally:
            server.kill()
            server.wait()
    # An io_uring, and the listener with it, outlives its process by some milliseconds.
    until(f"port {PORT} stays open after {mode}", lambda: not accepts())
print(f"{len(modes) - len(failed)} passed, {len(failed)} failed")
if failed:
    print("failed peers: " + ", ".join(failed), file=sys.stderr)
    sys.exit(1)
PYTHON
