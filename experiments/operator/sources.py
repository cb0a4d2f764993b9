#!/usr/bin/env python3
"""How soon jobs have their cores back after a deployment and after a burst, by the source of the service's latency.

    experiments/operator/sources.py target/release/brunt [SOURCE..]

The service, its users and its jobs are those of measure.py. Prints a table. Needs root, nginx and node.
"""

import sys
import measure
from measure import PORT, STARTED, Day

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
        users = self.load(STAGES)
        controller = self.control()
        self.at(DEPLOY)
        self.deploy()
        self.at(END)
        users.wait()
        summary = self.end_of(controller)
        return {"restart": self.after(DEPLOY, BURST), "burst": self.after(BURST, END), "controller": summary["controller"]["cpu"],
                "reasons": self.reasons()}

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
