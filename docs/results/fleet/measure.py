#!/usr/bin/env python3
"""Loads that several agents make, while processes are killed and stopped, clocks are apart, and what it all costs.

    docs/results/fleet/measure.py target/release/brunt [kills|clocks|counts|costs] [COUNT]

Three agents of this machine, a nats-server, and a target that counts what it gets and when. Prints a table for each part. Needs root
(time namespaces) and nats-server.
"""

import json, os, pathlib, random, shutil, signal, socket, statistics, subprocess, sys, tempfile, threading, time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from foot import foot

BRUNT = pathlib.Path(sys.argv[1]).resolve()
PARTS = ["kills", "clocks", "counts", "costs"]
WANTED = [word for word in sys.argv[2:] if word in PARTS] or PARTS
COUNTS = dict(kills=100, clocks=50, counts=100, costs=10)
if sys.argv[-1].isdigit():
    COUNTS = dict.fromkeys(PARTS, int(sys.argv[-1]))
# Crates whose sources the figures depend on.
MEASURED = ["load", "results", "runtime", "wire"]
PORT, TARGET = 18111, 18112
AGENTS = ["a", "b", "c"]
SIZE = 100
LEASE_S, PAUSE_S = 5.0, 0.2


class Target(threading.Thread):
    """Echoes messages. Counts them, and keeps when the first of each connection and the last of all has come."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", TARGET), backlog=64)
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
    """A server, and an agent of each name; `offsets` are seconds of their CLOCK_MONOTONIC."""

    def __init__(self, offsets={}):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="brunt-fleet-"))
        self.env = dict(os.environ, BRUNT_STATE_DIR=str(self.home / "state"))
        self.up = self.start_up()
        self.agents = {name: self.agent(name, offsets.get(name)) for name in AGENTS}
        self.until_ready()

    def start_up(self):
        words = [BRUNT, "fleet", "up", "--listen", f"127.0.0.1:{PORT}", "--dir", self.home / "fleet", "--agents", ",".join(AGENTS)]
        up = subprocess.Popen(words, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert b"fleet at" in up.stdout.readline()
        return up

    def agent(self, name, offset=None):
        words = [BRUNT, "agent", "--fleet", self.home / f"fleet/agents/{name}.fleet"]
        if offset is not None:
            # In seconds; what is left of one is of no interest.
            words = ["unshare", "-T", "--fork", "--kill-child=SIGTERM", "--monotonic", str(offset), *words]
        log = open(self.home / f"{name}.log", "ab")
        return subprocess.Popen(words, env=self.env, stdout=log, stderr=log)

    def operator(self, *words, **more):
        return subprocess.run([BRUNT, *words, "--fleet", self.home / "fleet/operator.fleet"], env=self.env, capture_output=True, **more)

    def ls(self):
        output = self.operator("fleet", "ls", "--json")
        return {agent["id"]: agent for agent in json.loads(output.stdout)} if output.returncode == 0 else {}

    def until_ready(self, limit=75):
        began = time.monotonic()
        while time.monotonic() < began + limit:
            found = self.ls()
            if len(found) == len(AGENTS) and all(agent["busy"] is None for agent in found.values()):
                return time.monotonic() - began
            time.sleep(0.1)
        return None

    def load(self, *words):
        out = self.home / "result.json"
        out.unlink(missing_ok=True)
        words = [BRUNT, "load", f"tcp://127.0.0.1:{TARGET}", "--on", "a,b,c", "-c", "3", "--json", out, "--quiet", *words]
        words += ["--fleet", self.home / "fleet/operator.fleet", "--allow-untrusted"]
        return subprocess.Popen(words, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def result(self):
        try:
            return json.loads((self.home / "result.json").read_text())
        except FileNotFoundError:
            return None

    def server_pid(self):
        return int(subprocess.run(["pgrep", "-f", f"config {self.home}/fleet/nats.conf"], capture_output=True).stdout.split()[0])

    def end(self):
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


def kills(target, count):
    """Kills or stops one process at a random time of a load, from its first message to its last."""
    chance, rows, left = random.Random(1), {}, 0
    for number in range(count):
        fleet = Fleet()
        victim = chance.choice(["agent", "agent", "coordinator", "coordinator", "server"])
        act = chance.choice(["kill", "kill", "stop 10 s"])
        # The load begins 2 s after the first message and takes 3.
        after = chance.uniform(0.0, 6.0)
        target.reset()
        load = fleet.load("-R", "300", "-d", "3", "--warmup", "0s")
        time.sleep(after)
        is_over = load.poll() is not None
        pid = dict(agent=fleet.agents["b"].pid, coordinator=load.pid, server=fleet.server_pid() if victim == "server" else 0)[victim]
        at = time.monotonic()
        if not is_over:
            os.kill(pid, signal.SIGKILL if act == "kill" else signal.SIGSTOP)
        if act != "kill" and not is_over:
            time.sleep(10)
            os.kill(pid, signal.SIGCONT)
        hangs = False
        try:
            load.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            hangs = True
            load.kill()
            load.communicate()
        code, result = load.returncode, fleet.result()
        if victim == "agent" and act == "kill" and not is_over:
            fleet.agents["b"].wait()
            fleet.agents["b"] = fleet.agent("b")
        if victim == "server" and act == "kill" and not is_over:
            # Its parent ends with it.
            fleet.up.wait()
            fleet.up = fleet.start_up()
        ready = fleet.until_ready()
        key = (victim, act)
        row = rows.setdefault(key, dict(runs=0, ok=0, lost=0, none=0, wrong=0, hangs=0, stuck=0, latest=0.0, ready=0.0))
        row["runs"] += 1
        verdict = result and result["verdict"]["kind"]
        whole = result is not None and verdict not in ("agent-lost",) and not result["interrupted"]
        row["ok" if code == 0 else "lost" if verdict == "agent-lost" else "none"] += 1
        if whole:
            requests = result["requests"]
            served = requests["completed"] + requests["unanswered"]
            row["wrong"] += not (requests["due"] == 900 and served == 900 and target.count == 900)
        # Exit status 0 is that of a whole load.
        row["wrong"] += code == 0 and not whole
        row["hangs"] += hangs
        row["stuck"] += ready is None
        row["ready"] = max(row["ready"], ready or 0)
        if victim != "agent" and act == "kill" and not is_over and target.last:
            row["latest"] = max(row["latest"], target.last - at)
        left += fleet.end()
    table(
        ["who", "what", "runs", "whole load", "agent-lost", "no result", "wrong", "hung", "agents not free after 75 s", "last message after the kill, at most", "free after, at most"],
        [(*key, row["runs"], row["ok"], row["lost"], row["none"], row["wrong"], row["hangs"], row["stuck"],
          f"{row['latest']:.2f} s" if row["latest"] else "-", f"{row['ready']:.1f} s") for key, row in sorted(rows.items())],
    )
    print(f"Processes left: {left}.\n", flush=True)


def clocks(target, count):
    """Clocks 1000 s apart: when the loads begin, and whether the true offset is within the bound."""
    offsets = dict(a=0, b=1000, c=5000)
    fleet, spreads, told, errors, bounds, outside = Fleet(offsets), [], [], [], [], 0
    for _ in range(count):
        target.reset()
        load = fleet.load("-R", "3000", "-d", "0.5", "--warmup", "0s")
        _, stderr = load.communicate()
        result = fleet.result()
        assert load.returncode == 0, stderr
        # The first request of the second and the third connection is due 1/3 and 2/3 ms after that of the first.
        spreads.append((max(target.firsts) - min(target.firsts)) * 1e3)
        told.append(result["fleet"]["start_spread_us"] / 1e3)
        for agent in result["fleet"]["agents"]:
            error = abs(agent["clock_offset_us"] - offsets[agent["id"]] * 1e6)
            errors.append(error)
            bounds.append(agent["clock_error_us"])
            outside += error > agent["clock_error_us"]
    left = fleet.end()
    table(
        ["runs", "first messages at the target, of three agents: spread p50", "p90", "max", "as told: p50", "max", "error of the offset p50", "max", "bound p50", "max", "true offset outside of the bound"],
        [(count, *(f"{value:.2f} ms" for value in (*quantiles(spreads), statistics.median(told), max(told))),
          *(f"{value:.0f} us" for value in (statistics.median(errors), max(errors), statistics.median(bounds), max(bounds))), f"{outside} of {len(errors)}")],
    )
    print(f"Processes left: {left}.\n", flush=True)


def quantiles(values):
    values = sorted(values)
    return values[len(values) // 2], values[len(values) * 9 // 10], values[-1]


def counts(target, count):
    """What the report has, what the target has counted, and what the journals have."""
    fleet, wrong = Fleet(), dict(target=0, journals=0, percentiles=0)
    for number in range(count):
        target.reset()
        flags = ["-d", "1", "--warmup", "0s"] + (["-R", "500"] if number % 2 else [])
        load = fleet.load(*flags)
        _, stderr = load.communicate()
        result = fleet.result()
        assert load.returncode == 0, stderr
        requests = result["requests"]
        wrong["target"] += target.count != requests["completed"] + requests["unanswered"]
        output = fleet.operator("fleet", "collect", result["fleet"]["run"], "--json", "-")
        again = json.loads(output.stdout)
        same = ["completed", "unanswered", "failed"]
        wrong["journals"] += [requests[name] for name in same] != [again["requests"][name] for name in same]
        wrong["percentiles"] += any(result["latency"][name] != again["latency"][name] for name in ["response", "service", "lag"])
    left = fleet.end()
    table(
        ["runs", "completed and unanswered are not what the target counted", "journals have another number", "percentiles from the journals differ"],
        [(count, wrong["target"], wrong["journals"], wrong["percentiles"])],
    )
    print(f"Processes left: {left}.\n", flush=True)


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def costs(count):
    """What a second of an agent is, what coordinator and agent use, and a load of one agent beside one without."""
    echo = subprocess.Popen([BRUNT, "serve", "echo", "--listen", f"127.0.0.1:{TARGET}", "--cores", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    fleet = Fleet()
    rows = []
    for flags in (["-R", "1k"], ["-R", "50k"], []):
        began = time.monotonic()
        load = fleet.load(*flags, "-d", "10", "--warmup", "0s", "--no-meter")
        time.sleep(8)
        before, server = cpu_s(load.pid), cpu_s(fleet.server_pid())
        time.sleep(3)
        used, of_server = (cpu_s(load.pid) - before) / 3, (cpu_s(fleet.server_pid()) - server) / 3
        load.communicate()
        run = fleet.result()["fleet"]["run"]
        sizes = [file.stat().st_size for file in (fleet.home / "state/fleet/journals").glob(f"*/{run}-*/[0-9]*")]
        rows.append((" ".join(flags) or "closed loop", f"{statistics.mean(sizes) / 1e3:.1f} kB", f"{max(sizes) / 1e3:.1f} kB",
                     f"{used / len(AGENTS) * 100:.2f} % of a core", f"{of_server / len(AGENTS) * 100:.2f} % of a core",
                     f"{time.monotonic() - began - 10:.1f} s"))
    table(["load of three agents", "a second of an agent, mean", "largest", "coordinator, for each agent", "nats-server, for each agent", "longer than its window"], rows)
    pairs = []
    for number in range(count):
        one = dict(on=["--on", "a", "--fleet", fleet.home / "fleet/operator.fleet"], plain=["--cores", "0"])
        one["on"] += ["--cores", "0"]
        got = {}
        for name in ("on", "plain") if number % 2 else ("plain", "on"):
            words = [BRUNT, "load", f"tcp://127.0.0.1:{TARGET}", "-c", "40", "-d", "3", "--json", "-", "--quiet", "--allow-untrusted", *one[name]]
            got[name] = json.loads(subprocess.run(words, env=fleet.env, capture_output=True).stdout)
        pairs.append((got["on"]["requests"]["rate"] / got["plain"]["requests"]["rate"], got["on"]["latency"]["response"]["p99_us"] / got["plain"]["latency"]["response"]["p99_us"]))
    rates, tails = ([pair[place] for pair in pairs] for place in (0, 1))
    table(["pairs", "rate of `--on` one agent, of that without", "p99"],
          [(len(pairs), *(f"x{statistics.median(values):.3f} [{min(values):.3f} {max(values):.3f}]" for values in (rates, tails)))])
    print(f"Processes left: {fleet.end()}.\n", flush=True)
    echo.terminate()
    echo.wait()


def environment():
    """As a load writes it."""
    with tempfile.TemporaryDirectory(prefix="brunt-fleet-") as home:
        echo = subprocess.Popen([BRUNT, "serve", "echo", "--listen", f"127.0.0.1:{TARGET + 1}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        words = [BRUNT, "load", f"tcp://127.0.0.1:{TARGET + 1}", "--wait", "5s", "-n", "10", "--out", home, "--quiet", "--allow-untrusted"]
        subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
        echo.terminate()
        echo.wait()
        return json.loads((pathlib.Path(home) / "env.json").read_text())


def main():
    target = Target() if WANTED != ["costs"] else None
    for part in [part for part in WANTED if part != "costs"]:
        globals()[part](target, COUNTS[part])
    if target:
        target.end()
    if "costs" in WANTED:
        costs(COUNTS["costs"])
    print(foot(environment(), MEASURED))


main()
