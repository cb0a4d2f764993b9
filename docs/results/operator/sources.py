#!/usr/bin/env python3
"""How soon jobs have their cores back after a deployment and after a burst, by the source of the service's latency.

    docs/results/operator/sources.py target/release/brunt [SOURCE..]

The service, its users and its jobs are those of measure.py. Prints a table. Needs root, nginx and node.
"""

import sys
import measure
from measure import PORT, Day

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
        return {"restart": self.back(DEPLOY, BURST), "burst": self.back(BURST, END), "controller": summary["controller"]["cpu"],
                "work": summary["jobs"]["cpu_seconds"], "reasons": self.reasons()}

    def reasons(self):
        counts = {}
        for record in self.records():
            counts[record["reason"]] = counts.get(record["reason"], 0) + 1
        return counts


def main():
    print("| source | back after the deployment | back after the burst | work of the jobs | controller, cores |")
    print("|---|---|---|---|---|")
    for source in sys.argv[2:] or SOURCES:
        found = measure.of_a_day(source, Trial.run, Trial)
        print(source, found, file=sys.stderr, flush=True)
        shown = lambda event: "never" if found[event] is None else f"{found[event]:.1f} s"
        print(f"| `{source}` | {shown('restart')} | {shown('burst')} | {found['work']:.0f} s | {found['controller']:.3f} |", flush=True)
    print()
    measure.machine()


if __name__ == "__main__":
    main()
