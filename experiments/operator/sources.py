#!/usr/bin/env python3
"""How soon jobs have their cores back after a deployment and after a burst, by the source of the service's latency.

    experiments/operator/sources.py target/release/brunt [SOURCE..]

The service, its users and its jobs are those of measure.py. Prints a table. Needs root, nginx and node.
"""

import json, subprocess, sys, time
import measure
from measure import BRUNT, LIMIT_MS, PEAK, PORT, STARTED, Day

# After so many seconds; the users' load is the same before and after.
DEPLOY, BURST, END = 30, 60, 135
STAGES = "1000:1000@60s,6000@5s,1000@70s"
SOURCES = {
    "file": 'file = "{home}/users.jsonl"',
    "command": 'command = ["tail", "-n", "0", "-f", "{home}/users.jsonl"]',
    "probe": 'probe = "http://127.0.0.1:{port}/"',
    "prometheus": 'prometheus = "http://127.0.0.1:{port}/metrics"\nmetric = "http_request_duration_seconds"',
}


class Trial(Day):
    def __init__(self, source):
        super().__init__("graded")
        self.source = SOURCES[source].format(home=self.home, port=PORT)

    def plan(self):
        path = super().plan()
        text = path.read_text().replace(f'file = "{self.home}/seen.jsonl"', self.source)
        path.write_text(text)
        return path

    def run(self):
        self.serve()
        time.sleep(1)
        users = self.start(
            [BRUNT, "load", f"http://127.0.0.1:{PORT}/", "--stages", STAGES, "--arrival", "poisson", "-c", "64", "--slo", f"p99<{LIMIT_MS}ms",
             "--counts", self.home / "users.jsonl", "--no-meter", "--quiet", "--allow-untrusted", "--warmup", "0s", "--out", self.home / "load"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (self.home / "users.jsonl").exists():
            time.sleep(0.01)
        self.begin = time.monotonic()
        controller = self.start([BRUNT, "colocate", "run", self.plan(), "--out", self.disk / "out", "--quiet"],
                                stdout=subprocess.DEVNULL, stderr=open(self.home / "controller.log", "w"))
        self.at(DEPLOY)
        self.deploy()
        self.at(END)
        users.wait()
        controller.terminate()
        controller.wait()
        summary = json.loads((self.disk / "out" / "summary.json").read_text())
        return {"restart": self.after(DEPLOY, BURST), "burst": self.after(BURST, END), "controller": summary["controller"]["cpu"],
                "reasons": self.reasons()}

    def records(self):
        for line in (self.disk / "out" / "audit.jsonl").read_text().splitlines()[1:]:
            try:
                yield json.loads(line)
            except ValueError:
                pass

    def reasons(self):
        counts = {}
        for record in self.records():
            counts[record["reason"]] = counts.get(record["reason"], 0) + 1
        return counts

    def after(self, event, end):
        """Seconds from the event until the jobs have nine tenths of what they had before it, for good; `None`: never."""
        cores = [(record["now"], record["allotment"]["cores"]) for record in self.records()]
        before = sorted(amount for at, amount in cores if event - 10 <= at < event)
        wanted = 0.9 * before[len(before) // 2]
        low = [at for at, amount in cores if event <= at < end - 1 and amount < wanted]
        back = None if low and low[-1] > end - 2 else (low[-1] - event if low else 0.0)
        return {"before": before[len(before) // 2], "back": back}


def main():
    print("| source | cores before | back after the deployment | cores before | back after the burst | controller, cores |")
    print("|---|---|---|---|---|---|")
    for source in sys.argv[2:] or SOURCES:
        found = measure.of_a_day(source, Trial.run, Trial)
        print(source, found, file=sys.stderr, flush=True)
        shown = lambda event: f"{found[event]['before']:.2f} | " + ("never" if found[event]["back"] is None else f"{found[event]['back']:.1f} s")
        print(f"| `{source}` | {shown('restart')} | {shown('burst')} | {found['controller']:.3f} |", flush=True)
    print(f"\n- Started {STARTED} as `experiments/operator/sources.py {' '.join(sys.argv[1:])}`")


if __name__ == "__main__":
    main()
