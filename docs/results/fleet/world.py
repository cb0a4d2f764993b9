"""A target that counts what it gets and when, and a fleet of this machine."""

import json, math, os, pathlib, shutil, signal, socket, statistics, subprocess, sys, tempfile, threading, time

BRUNT = pathlib.Path(sys.argv[1]).resolve()
PORT, TARGET = 18111, 18112
AGENTS = ["a", "b", "c"]
SIZE = 100


class Target(threading.Thread):
    """Echoes messages. Counts them, and keeps when the first of each connection and the last of all has come."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("", TARGET), backlog=64)
        self.lock = threading.Lock()
        self.reset()
        self.start()

    def reset(self):
        with self.lock:
            self.count, self.last, self.firsts = 0, 0.0, []

    def end(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def run(self):
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.echo, args=[stream], daemon=True).start()

    def echo(self, stream):
        is_first, held = True, b""
        try:
            while data := stream.recv(65536):
                now = time.monotonic()
                held += data
                whole = len(held) // SIZE
                with self.lock:
                    self.count += whole
                    self.last = max(self.last, now)
                    if is_first:
                        self.firsts.append(now)
                        is_first = False
                stream.sendall(held[: whole * SIZE])
                held = held[whole * SIZE :]
        except OSError:
            pass


class Fleet:
    """A server, and an agent of each name. `offsets` are seconds of their CLOCK_MONOTONIC, `wrap` has words before their command, `url` where
    they find the server. The server is one of `brunt fleet up`, or with `own` one that can end and come back."""

    def __init__(self, offsets={}, wrap={}, url={}, own=False, host="127.0.0.1", target="127.0.0.1", names=AGENTS):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="brunt-fleet-"))
        self.env = dict(os.environ, BRUNT_STATE_DIR=str(self.home / "state"))
        self.names = names
        self.offsets, self.wrap, self.url, self.own, self.host, self.target = offsets, wrap, url, own, host, target
        self.up = self.start_up()
        if own:
            self.end_up()
            self.up = self.start_server()
        self.agents = {name: self.agent(name) for name in names}
        self.until_ready()

    def start_up(self):
        words = [BRUNT, "fleet", "up", "--listen", f"{self.host}:{PORT}", "--dir", self.home / "fleet", "--agents", ",".join(self.names)]
        up = subprocess.Popen(words, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert b"fleet at" in up.stdout.readline()
        return up

    def end_up(self):
        self.up.send_signal(signal.SIGINT)
        self.up.wait()

    def start_server(self):
        program = shutil.which("nats-server") or pathlib.Path.home() / "go/bin/nats-server"
        return subprocess.Popen([program, "--config", self.home / "fleet/nats.conf"], stderr=subprocess.DEVNULL)

    def agent(self, name):
        access = self.home / f"fleet/agents/{name}.fleet"
        if name in self.url:
            text = json.loads(access.read_text())
            access = self.home / f"{name}.fleet"
            access.write_text(json.dumps(dict(text, url=self.url[name])))
        words = [BRUNT, "agent", "--id", name, "--fleet", access, "--allow", f"{self.target}:{TARGET}"]
        if name in self.offsets:
            # In seconds; what is left of one is of no interest.
            words = ["unshare", "-T", "--fork", "--kill-child=SIGTERM", "--monotonic", str(self.offsets[name]), *words]
        log = open(self.home / f"{name}.log", "ab")
        return subprocess.Popen([*self.wrap.get(name, []), *words], env=self.env, stdout=log, stderr=log)

    def operator(self, *words, **more):
        return subprocess.run([BRUNT, *words, "--fleet", self.home / "fleet/operator.fleet"], env=self.env, capture_output=True, **more)

    def ls(self):
        output = self.operator("fleet", "ls", "--json")
        return {agent["id"]: agent for agent in json.loads(output.stdout)} if output.returncode == 0 else {}

    def until_ready(self, limit=75):
        began = time.monotonic()
        while time.monotonic() < began + limit:
            found = self.ls()
            if len(found) == len(self.names) and all(agent["busy"] is None for agent in found.values()):
                return time.monotonic() - began
            time.sleep(0.1)
        return None

    def load(self, *words, out="result.json", connections=3):
        out = self.home / out
        out.unlink(missing_ok=True)
        words = [BRUNT, "load", f"tcp://{self.target}:{TARGET}", "--on", ",".join(self.names), "-c", str(connections), "--json", out, "--quiet", *words]
        words += ["--fleet", self.home / "fleet/operator.fleet", "--allow-untrusted"]
        return subprocess.Popen(words, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def result(self, out="result.json"):
        try:
            return json.loads((self.home / out).read_text())
        except FileNotFoundError:
            return None

    def server_pid(self):
        if self.own:
            return self.up.pid
        return int(subprocess.run(["pgrep", "-f", f"config {self.home}/fleet/nats.conf"], capture_output=True).stdout.split()[0])

    def end(self):
        """Ends all of it; returns how many processes are left."""
        for agent in self.agents.values():
            # unshare leaves signals to its child.
            subprocess.run(["pkill", "-TERM", "-P", str(agent.pid)])
            agent.terminate()
        self.up.send_signal(signal.SIGINT)
        for process in [*self.agents.values(), self.up]:
            process.wait()
        left = subprocess.run(["pgrep", "-fc", str(self.home)], capture_output=True, text=True).stdout.strip()
        shutil.rmtree(self.home)
        return int(left or 0)


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)


def quantiles(values):
    values = sorted(values)
    return values[len(values) // 2], values[len(values) * 9 // 10], values[-1]


def median_of_ratios(values):
    """With its interval of 95 % by ranks; all values where they are fewer than six."""
    values, count = sorted(values), len(values)
    tails = [sum(math.comb(count, below) for below in range(rank + 1)) / 2**count for rank in range(count // 2)]
    rank = sum(tail <= 0.025 for tail in tails)
    low = max(rank - 1, 0)
    return f"x{statistics.median(values):.3f} [{values[low]:.3f} {values[-1 - low]:.3f}]"
