"""A hundred agents of this machine: whether all are found, and what they cost their coordinator."""

import pathlib, re, time

from figures import cpu_s
from world import Fleet, table

AGENTS = 100
LENGTH_S = 20


def rss_mb(pid):
    return int(re.search(r"VmRSS:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1e3


def many(target, count):
    """`fleet ls` so many times, and one load of them all."""
    fleet, found, took = Fleet(names=[f"a{number}" for number in range(AGENTS)]), 0, []
    for _ in range(count):
        began = time.monotonic()
        found += len(fleet.ls()) == AGENTS
        took.append(time.monotonic() - began)
    target.reset()
    began = time.monotonic()
    load = fleet.load("-R", "2k", "-d", str(LENGTH_S), "--warmup", "0s", connections=AGENTS)
    time.sleep(10)
    at, before, early = time.monotonic(), cpu_s(load.pid), rss_mb(load.pid)
    time.sleep(10)
    cpu, late = (cpu_s(load.pid) - before) / (time.monotonic() - at), rss_mb(load.pid)
    _, stderr = load.communicate()
    longer, result = time.monotonic() - began - LENGTH_S, fleet.result()
    assert load.returncode == 0, stderr
    requests, made = result["requests"], result["fleet"]
    # Those that are abandoned may have been sent, or not.
    begun = requests["completed"] + requests["unanswered"]
    right = begun - requests["abandoned"] <= target.count <= begun
    table(["agents", "`fleet ls` found all of them", "took at most", "coordinator", "its memory after 10 s and 20 s", "first messages within, as told", "a load of 20 s takes longer by", "counts are those of the target"],
          [(len(made["agents"]), f"{found} of {count}", f"{max(took):.2f} s", f"{cpu * 100:.1f} % of a core", f"{early:.0f} MB, {late:.0f} MB", f"{made['start_spread_us'] / 1e3:.1f} ms", f"{longer:.1f} s", f"{target.count} of {begun}{', yes' if right else ', NO'}")])
    print(f"Processes left: {fleet.end()}.\n", flush=True)
