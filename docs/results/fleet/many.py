"""A hundred agents of this machine: whether all are found, and what they cost their coordinator."""

import json, pathlib, re, statistics, time

from figures import cpu_s
from world import Fleet, table

AGENTS = 100
LENGTH_S = 20


def rss_mb(pid):
    return int(re.search(r"VmRSS:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1e3


def lateness(file, until, target):
    """How long after their end the seconds of a load are in its file, in seconds."""
    seen, late = 0, []
    while time.monotonic() < until:
        lines = file.read_text().splitlines(keepends=True) if file.exists() else []
        for line in lines[seen:]:
            if line.endswith("\n"):
                late.append(time.monotonic() - min(target.firsts) - json.loads(line)["at_s"])
                seen += 1
        time.sleep(0.02)
    return late


def many(target, count):
    """`fleet ls` so many times, and one load of them all."""
    fleet, found, took = Fleet(names=[f"a{number}" for number in range(AGENTS)]), 0, []
    for _ in range(count):
        began = time.monotonic()
        found += len(fleet.ls()) == AGENTS
        took.append(time.monotonic() - began)
    target.reset()
    began = time.monotonic()
    load = fleet.load("-R", "2k", "-d", str(LENGTH_S), "--warmup", "0s", "--out", fleet.home / "out", connections=AGENTS)
    file = fleet.home / "out/series.jsonl"
    late = lateness(file, began + 10, target)
    at, before, early = time.monotonic(), cpu_s(load.pid), rss_mb(load.pid)
    time.sleep(10)
    cpu, later = (cpu_s(load.pid) - before) / (time.monotonic() - at), rss_mb(load.pid)
    _, stderr = load.communicate()
    longer, result = time.monotonic() - began - LENGTH_S, fleet.result()
    assert load.returncode == 0, stderr
    requests, made = result["requests"], result["fleet"]
    # Those that are abandoned may have been sent, or not.
    begun = requests["completed"] + requests["unanswered"]
    right = begun - requests["abandoned"] <= target.count <= begun
    table(["agents", "`fleet ls` found all of them", "took at most", "coordinator", "its memory after 10 s and 20 s", "a second is known after its end, p50", "max", "first messages within, as told", "a load of 20 s takes longer by", "counts are those of the target"],
          [(len(made["agents"]), f"{found} of {count}", f"{max(took):.2f} s", f"{cpu * 100:.1f} % of a core", f"{early:.0f} MB, {later:.0f} MB", f"{statistics.median(late):.2f} s", f"{max(late):.2f} s", f"{made['start_spread_us'] / 1e3:.1f} ms", f"{longer:.1f} s", f"{target.count} of {begun}{', yes' if right else ', NO'}")])
    print(f"Processes left: {fleet.end()}.\n", flush=True)
