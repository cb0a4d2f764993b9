#!/usr/bin/env python3
"""A day of an operator, in two and a half minutes, under each policy of co-location.

    docs/results/operator/measure.py target/release/brunt [POLICY..]

nginx in front of Node serves on both cores with best-effort jobs beside it. Its users come by `brunt load` at random times: a ramp, a
deployment (Node is killed, and started again a second later by what supervises it), a burst of five seconds at more than it can do, ten
seconds in which the controller gets no counts, ten in which its disk is full, a job that forks without end, a job that is killed. Prints
a table. Needs root, nginx and node.
"""

import json, os, pathlib, shutil, signal, subprocess, sys, tempfile, threading, time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from foot import foot

BRUNT, WANTED = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
POLICIES = ["none", "static=0.5", "static=1", "static=1.5", "graded", "heracles/10", "parties", "koordinator"]
# The machine takes up to some milliseconds by itself: an objective of fewer is missed without any job, too.
PORT, NODE_PORT, LIMIT_MS, PEAK = 18095, 18096, 10, 2500
# Crates whose sources the figures depend on.
MEASURED = ["colocate", "load", "meter", "results", "runtime", "wire"]
STAGES = "200:1200@20s,1200@50s,6000@5s,1200@75s"
DEPLOY, BURST, SILENT, FULL, FORK, KILL, END = 40, 70, 95, 115, 130, 140, 150
SERVER = """
const counts = { "0.001": 0, "0.004": 0, "0.01": 0, "+Inf": 0 }
require("http").createServer((q, r) => {
  if (q.url == "/metrics") {
    return r.end(Object.keys(counts).map(le => `http_request_duration_seconds_bucket{le="${le}"} ${counts[le]}\\n`).join(""))
  }
  const begin = process.hrtime.bigint()
  while (process.hrtime.bigint() < begin + 200000n);
  r.end("Hello, world!", () => {
    const took = Number(process.hrtime.bigint() - begin) / 1e9
    for (const le in counts) if (le == "+Inf" || took <= Number(le)) counts[le]++
  })
}).listen(%d, "127.0.0.1")
""" % NODE_PORT
PROXY = """
daemon off; worker_processes 2; pid HOME/nginx.pid; error_log HOME/nginx.log crit;
events { worker_connections 1024; }
http {
  access_log off; client_body_temp_path HOME/body; proxy_temp_path HOME/proxy;
  fastcgi_temp_path HOME/fastcgi; uwsgi_temp_path HOME/uwsgi; scgi_temp_path HOME/scgi;
  upstream node { server 127.0.0.1:%d max_fails=0; keepalive 64; }
  server { listen 127.0.0.1:%d; location / { proxy_pass http://node; proxy_http_version 1.1; proxy_set_header Connection ""; } }
}
""" % (NODE_PORT, PORT)
SUPERVISOR = "nginx -c HOME/nginx.conf & while :; do node HOME/server.js & echo $! > HOME/node.pid; wait $!; sleep 1; done"


class Day:
    """One policy; `None`: the service alone."""

    def __init__(self, policy):
        self.policy = policy
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="brunt-day-"))
        self.disk = self.home / "disk"
        self.disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", self.disk], check=True)
        (self.home / "server.js").write_text(SERVER)
        (self.home / "nginx.conf").write_text(PROXY.replace("HOME", str(self.home)))
        self.env = {**os.environ, "BRUNT_STATE_DIR": str(self.disk / "state")}
        self.silent = threading.Event()
        self.over = threading.Event()
        self.started = []

    def start(self, words, **how):
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, env=self.env, **how)
        self.started.append(process)
        return process

    def serve(self):
        """nginx, and Node, which is started again a second after its end."""
        script = SUPERVISOR.replace("HOME", str(self.home))
        self.service = self.start(["sh", "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def deploy(self):
        os.kill(int((self.home / "node.pid").read_text()), signal.SIGKILL)

    def relay(self):
        """The counts of the users' load, as the controller gets them."""
        with open(self.home / "users.jsonl") as users, open(self.home / "seen.jsonl", "a") as seen:
            while not self.over.is_set():
                lines = users.readlines()
                if not self.silent.is_set():
                    seen.writelines(lines)
                    seen.flush()
                time.sleep(0.02)

    def plan(self):
        path = self.home / "plan.toml"
        path.write_text(
            f'policy = "{self.policy}"\nat_once = 3\n[service]\npid = {self.service.pid}\nslo = "p99<{LIMIT_MS}ms"\npeak = {PEAK}\n'
            f'[source]\nfile = "{self.home}/seen.jsonl"\n[limits]\nprocesses = 256\nmemory = "1GiB"\n[queue]\nfile = "{self.home}/queue.sqlite"\n')
        for _ in range(2):
            self.queue("add", "--retries", "100", "--", BRUNT, "stress", "cpu", "--threads", "1")
        return path

    def queue(self, *words):
        words = [BRUNT, "colocate", "queue", words[0], "--queue", self.home / "queue.sqlite", *words[1:]]
        return subprocess.run([str(word) for word in words], env=self.env, check=True, capture_output=True, text=True).stdout

    def status(self):
        told = subprocess.run([BRUNT, "colocate", "status", "--json"], env=self.env, capture_output=True, text=True)
        return (json.loads(told.stdout or "[]") or [None])[0]

    def at(self, second):
        time.sleep(max(0, self.begin + second - time.monotonic()))

    def load(self, stages):
        """Serves, and starts the users; the day begins with the file of their counts."""
        self.serve()
        time.sleep(1)
        users = self.start(
            [BRUNT, "load", f"http://127.0.0.1:{PORT}/", "--stages", stages, "--arrival", "poisson", "-c", "64", "--slo", f"p99<{LIMIT_MS}ms",
             "--counts", self.home / "users.jsonl", "--no-meter", "--quiet", "--allow-untrusted", "--warmup", "0s", "--out", self.home / "load"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (self.home / "users.jsonl").exists():
            time.sleep(0.01)
        self.begin = time.monotonic()
        return users

    def control(self):
        return self.start([BRUNT, "colocate", "run", self.plan(), "--out", self.disk / "out", "--quiet"],
                          stdout=subprocess.DEVNULL, stderr=open(self.home / "controller.log", "w"))

    def end_of(self, controller):
        """Ends the controller; its summary."""
        controller.terminate()
        controller.wait()
        return self.summary()

    def summary(self):
        return json.loads((self.disk / "out" / "summary.json").read_text())

    def records(self):
        """Of the audit log. A line that a full disk has cut off is left out."""
        for line in (self.disk / "out" / "audit.jsonl").read_text().splitlines()[1:]:
            try:
                yield json.loads(line)
            except ValueError:
                pass

    def run(self):
        users = self.load(STAGES)
        threading.Thread(target=self.relay, daemon=True).start()
        controller = None
        if self.policy:
            controller = self.control()
        self.at(DEPLOY)
        self.deploy()
        self.at(SILENT)
        self.silent.set()
        self.at(SILENT + 10)
        self.silent.clear()
        self.at(FULL)
        full = self.disk / "full"
        with open(full, "wb") as file:
            try:
                while True:
                    file.write(bytes(1 << 20))
                    file.flush()
            except OSError:
                pass
        self.at(FULL + 10)
        full.unlink()
        if self.policy:
            self.at(FORK)
            fork = self.queue("add", "--priority", "9", "--", BRUNT, "stress", "fork").strip()
            self.at(KILL)
            seen = self.status()
            jobs = [job for job in seen["jobs"] if str(job["id"]) != fork] if seen else []
            if jobs:
                os.kill(jobs[0]["pid"], signal.SIGKILL)
        self.at(END)
        users.wait()
        return self.figures(self.end_of(controller) if controller else None)

    def figures(self, summary):
        lines = [json.loads(line) for line in (self.home / "users.jsonl").read_text().splitlines()]
        zero, bad = lines[0]["end"] - lines[0]["seconds"], {}
        for line in lines:
            second = int(line["end"] - line["seconds"] / 2 - zero)
            count, slow = bad.get(second, (0, 0))
            bad[second] = (count + line["count"], slow + line["slow"])
        missed = {second for second, (count, slow) in bad.items() if slow > 0.01 * count}
        of_events = lambda second: DEPLOY <= second < DEPLOY + 4 or BURST <= second < BURST + 10
        found = {"bad": len(missed), "own": len([second for second in missed if not of_events(second)]), "seconds": len(bad)}
        if summary:
            found["work"] = summary["jobs"]["cpu_seconds"]
            found["back"] = {"deploy": self.back(DEPLOY, BURST), "burst": self.back(BURST, SILENT), "silence": self.back(SILENT + 10, FULL, SILENT)}
        return found

    def back(self, event, last, before=None):
        """Seconds from an event until the jobs have, for three seconds, nine tenths of the mean they had in the 15 s before it.

        `None`: not until `last`. `before`: the end of those 15 s, where the event begins earlier than its end.
        """
        cores = [(record["now"], record["allotment"]["cores"]) for record in self.records()]
        wanted = 0.9 * mean_between(cores, (before or event) - 15, before or event)
        if wanted == 0:
            return None
        times = [event] + [at for at, _ in cores if event < at < last - 3]
        return next((at - event for at in times if mean_between(cores, at, at + 3) >= wanted), None)

    def unused(self, seconds):
        """CPU time of the jobs in a day without users: that of some seconds, as it would be in a day."""
        self.serve()
        time.sleep(1)
        subprocess.run([str(word) for word in [BRUNT, "colocate", "run", self.plan(), "--time", f"{seconds}s", "--out", self.disk / "out", "--quiet"]],
                       env=self.env, check=True, capture_output=True)
        return self.summary()["jobs"]["cpu_seconds"] * END / seconds

    def end(self):
        self.over.set()
        for process in reversed(self.started):
            if process.poll() is None:
                process.kill()
            process.wait()
        try:
            os.killpg(self.service.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        subprocess.run(["umount", "-l", self.disk])
        shutil.rmtree(self.home, ignore_errors=True)


def mean_between(steps, begin, end):
    """Mean from `begin` to `end` of a value that is given as the times at which it changes."""
    before = [value for at, value in steps if at <= begin]
    inside = [(at, value) for at, value in steps if begin < at < end]
    steps = [(begin, before[-1] if before else 0), *inside, (end, 0)]
    return sum(value * (until - at) for (at, value), (until, _) in zip(steps, steps[1:])) / (end - begin)


def machine():
    """Lines on the machine, the program and this command."""
    with tempfile.TemporaryDirectory() as home:
        words = [BRUNT, "load", f"tcp://127.0.0.1:{PORT}", "-n", "1", "--no-meter", "--quiet", "--out", home + "/load"]
        server = subprocess.Popen([BRUNT, "serve", "echo", "--listen", f"127.0.0.1:{PORT}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        subprocess.run([str(word) for word in words], capture_output=True)
        server.kill()
        server.wait()
        env = json.loads(pathlib.Path(home, "load", "env.json").read_text())
    print(foot(env, MEASURED))


def of_a_day(policy, measured, kind=Day):
    day = kind(policy)
    try:
        return measured(day)
    finally:
        day.end()
        time.sleep(2)


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    whole = of_a_day("none", lambda day: day.unused(20))
    rows = {}
    for policy in [None, *(WANTED or POLICIES)]:
        rows[policy] = of_a_day(policy, Day.run)
        print(policy or "alone", rows[policy], file=sys.stderr, flush=True)
    print("| policy | bad seconds | of these not at the deployment or the burst | work of the jobs | back after deployment | after burst | after silence |")
    print("|---|---|---|---|---|---|---|")
    for policy, row in rows.items():
        back = row.get("back", {})
        shown = lambda name: "-" if not back else "never" if back[name] is None else f"{back[name]:.1f} s"
        work = f"{row['work'] / whole:.0%}" if "work" in row else "-"
        print(f"| {policy or 'alone'} | {row['bad']} of {row['seconds']} | {row['own']} | {work} | {shown('deploy')} | {shown('burst')} | {shown('silence')} |")
    print(f"\n- Jobs without users: {whole:.0f} s of CPU time a day")
    machine()


if __name__ == "__main__":
    main()
