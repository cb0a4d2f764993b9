"""One process of a load is killed or stopped at a random time."""

import os, random, signal, subprocess, time

from world import Fleet, table


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
