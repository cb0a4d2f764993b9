"""Clocks that are apart, numbers of requests, and what a load of several agents costs."""

import json, os, pathlib, statistics, subprocess, time

from world import AGENTS, BRUNT, Fleet, TARGET, median_of_ratios, quantiles, table


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


def apart_from_load_s(pid):
    """CPU time of the threads of an agent that send no requests."""
    tasks = [task for task in pathlib.Path(f"/proc/{pid}/task").iterdir() if not (task / "comm").read_text().startswith("load-")]
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def costs(count):
    """What a second of an agent is, what coordinator and agent use, and a load of one agent beside one without."""
    echo = subprocess.Popen([BRUNT, "serve", "echo", "--listen", f"127.0.0.1:{TARGET}", "--cores", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    fleet = Fleet()
    rows = []
    for flags in (["-R", "1k"], ["-R", "50k"], []):
        began = time.monotonic()
        load = fleet.load(*flags, "-d", "10", "--warmup", "0s", "--no-meter")
        time.sleep(8)
        in_agents = lambda: sum(apart_from_load_s(agent.pid) for agent in fleet.agents.values())
        before, server, agents = cpu_s(load.pid), cpu_s(fleet.server_pid()), in_agents()
        time.sleep(3)
        used, of_server, of_agents = ((now - then) / 3 for now, then in ((cpu_s(load.pid), before), (cpu_s(fleet.server_pid()), server), (in_agents(), agents)))
        load.communicate()
        run = fleet.result()["fleet"]["run"]
        sizes = [file.stat().st_size for file in (fleet.home / "state/fleet/journals").glob(f"*/{run}-*/[0-9]*")]
        rows.append((" ".join(flags) or "closed loop", f"{statistics.mean(sizes) / 1e3:.1f} kB", f"{max(sizes) / 1e3:.1f} kB",
                     f"{used / len(AGENTS) * 100:.2f} % of a core", f"{of_server / len(AGENTS) * 100:.2f} % of a core", f"{of_agents / len(AGENTS) * 100:.2f} % of a core",
                     f"{time.monotonic() - began - 10:.1f} s"))
    table(["load of three agents", "a second of an agent, mean", "largest", "coordinator, for each agent", "nats-server, for each agent", "an agent, apart from its load threads", "longer than its window"], rows)
    pairs = []
    for number in range(count):
        one = dict(on=["--on", "a", "--fleet", fleet.home / "fleet/operator.fleet"], plain=["--cores", "0"])
        one["on"] += ["--cores", "0"]
        got = {}
        for name in ("on", "plain") if number % 2 else ("plain", "on"):
            words = [BRUNT, "load", f"tcp://127.0.0.1:{TARGET}", "-c", "40", "-d", "2", "--json", "-", "--quiet", "--allow-untrusted", *one[name]]
            got[name] = json.loads(subprocess.run(words, env=fleet.env, capture_output=True).stdout)
        pairs.append((got["on"]["requests"]["rate"] / got["plain"]["requests"]["rate"], got["on"]["latency"]["response"]["p99_us"] / got["plain"]["latency"]["response"]["p99_us"]))
    rates, tails = ([pair[place] for pair in pairs] for place in (0, 1))
    table(["pairs", "rate of `--on` one agent, of that without", "p99"],
          [(len(pairs), *(median_of_ratios(values) for values in (rates, tails)))])
    print(f"Processes left: {fleet.end()}.\n", flush=True)
    echo.terminate()
    echo.wait()
