"""Faults while a load runs: what is expected of each, and how often it was so. A load that is whole has what the target has counted; one that is
cut off ends within the lease, names who was lost, and leaves idle agents and whole seconds."""

import json, os, pathlib, signal, subprocess, sys, tempfile, time

import network
from relay import Relay
from world import AGENTS, PORT, TARGET, Fleet, table

RATE, LENGTH_S = 300, 12
# From the last renewal, one a second.
LEASE_S = 5.2
# Shares of messages that are lost, and that come twice.
LOST = 0.05
FLAGS = ["-R", str(RATE), "-d", str(LENGTH_S), "--warmup", "0s"]


class Run:
    """A load, and what happens to it once the target has had some of it."""

    def __init__(self, fleet, target, act=None, flags=FLAGS, early=None, connections=3):
        target.reset()
        self.fleet, self.target, self.act_at = fleet, target, None
        self.load = fleet.load(*flags, connections=connections)
        if early:
            early(self.load)
        elif act:
            while target.count < RATE and self.load.poll() is None:
                time.sleep(0.01)
            self.act_at = time.monotonic()
            act(self.load)
        try:
            _, stderr = self.load.communicate(timeout=100)
            self.hangs = False
        except subprocess.TimeoutExpired:
            self.hangs = True
            self.load.kill()
            _, stderr = self.load.communicate()
        self.told, self.code, self.result = stderr.decode().strip(), self.load.returncode, fleet.result()

    def common(self):
        yield self.hangs, "hung"
        yield self.code < 0, f"died of signal {-self.code}"
        ready = self.fleet.until_ready()
        yield ready is None, "agents not free after 75 s"

    def whole(self):
        """What is wrong if the load should not have noticed anything."""
        yield from self.common()
        yield self.code != 0, f"exit {self.code}: {self.told}"
        if self.result:
            requests = self.result["requests"]
            served = requests["completed"] + requests["unanswered"] + requests["failed"]
            yield requests["due"] != RATE * LENGTH_S, f"due {requests['due']}"
            yield served != requests["due"] or self.target.count != served, f"{requests} and {self.target.count} at the target"
            yield self.result["interrupted"], "interrupted"

    def failed(self):
        """The same if requests of one agent took too long, and no agent was lost."""
        yield from self.common()
        yield self.code != 1 or "timeout" not in self.told, f"exit {self.code}: {self.told}"
        requests, errors = self.result["requests"], self.result["errors"]
        yield self.result["verdict"]["kind"] != "errors" or self.result["interrupted"], self.result["verdict"]["kind"]
        served = requests["completed"] + requests["unanswered"] + requests["failed"]
        yield requests["due"] != RATE * LENGTH_S or served != requests["due"] or errors["timeout"] != requests["failed"], f"{requests} {errors}"

    def lost(self, which=AGENTS, silent_s=LEASE_S):
        """The same if it should have ended, with one of these agents named."""
        yield from self.common()
        yield self.code != 1, f"exit {self.code}: {self.told}"
        yield not any(f"agent {name} was lost" in self.told for name in which), self.told or "nothing told"
        silence = self.target.last - self.act_at
        yield silent_s is not None and silence > silent_s, f"last message after {silence:.2f} s"
        if self.result:
            yield self.result["verdict"]["kind"] != "agent-lost", self.result["verdict"]["kind"]
            requests = self.result["requests"]
            due = round(self.result["load"]["measured_s"] * RATE)
            yield abs(requests["due"] - due) > 0, f"due {requests['due']} of {due}"
        else:
            yield True, "no result"

    def refused(self, *needles):
        """The same if it should not have begun."""
        yield from self.common()
        yield self.code != 1, f"exit {self.code}: {self.told}"
        yield self.target.count > 0, f"{self.target.count} messages were sent"
        yield any(needle not in self.told for needle in needles), self.told
        yield len(self.told.splitlines()) != 1, self.told


def stopped(seconds):
    def act(pid):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)

    return act


def server(gone_s):
    """The server ends and comes back."""

    def row(target):
        fleet = Fleet(own=True)

        def act(_):
            fleet.up.kill()
            fleet.up.wait()
            time.sleep(gone_s)
            fleet.up = fleet.start_server()

        run = Run(fleet, target, act)
        found = list(run.whole() if gone_s < 3 else run.lost())
        if gone_s >= 3 and run.result:
            # The agents have it on their disks: no less than what was reported.
            output = fleet.operator("fleet", "collect", run.result["fleet"]["run"], "--json", "-")
            again = json.loads(output.stdout or b"null")
            found.append((not again or again["requests"]["due"] < run.result["requests"]["due"], f"collected: {output.stderr.decode()}"))
        return fleet, found

    return row


def server_stopped(seconds):
    def row(target):
        fleet = Fleet(own=True)
        run = Run(fleet, target, lambda _: stopped(seconds)(fleet.up.pid))
        return fleet, list(run.whole() if seconds < 3 else run.lost())

    return row


def coordinator_stopped(seconds):
    def row(target):
        fleet = Fleet()
        run = Run(fleet, target, lambda load: stopped(seconds)(load.pid))
        return fleet, list(run.whole() if seconds < 4 else run.lost())

    return row


def cut(link, to_agent, from_agent, seconds):
    """The link of agent b is cut."""

    def row(target):
        links = network.Links()
        try:
            fleet = Fleet(wrap=dict(b=links.within), host=network.SERVER, target=network.TARGET_HOST)

            def act(_):
                links.cut(link, to_agent, from_agent)
                time.sleep(seconds)
                links.heal()

            run = Run(fleet, target, act)
            if link == "load":
                found = list(run.failed())
            else:
                found = list(run.whole() if seconds < 4 else run.lost(["b"], None))
            if link != "load" and seconds >= 4:
                # The other agents are told to end, and the lease of this one ends.
                silence = target.last - run.act_at
                found.append((silence > LEASE_S + 1.5, f"last message after {silence:.2f} s"))
            fleet.left = fleet.end()
        finally:
            links.end()
        return fleet, found

    return row


def relayed(allowed):
    """60 ms to the server and 40 ms back."""

    def row(target):
        relay = Relay(PORT + 2, PORT, 0.06, 0.04)
        fleet = Fleet(url=dict(b=f"nats://127.0.0.1:{PORT + 2}"))
        run = Run(fleet, target, flags=[*FLAGS, "--allow-skew"] if allowed else FLAGS)
        found = list(run.whole() if allowed else run.refused("agent b", "its clock is known to", "--allow-skew"))
        if allowed and run.result:
            agent = next(agent for agent in run.result["fleet"]["agents"] if agent["id"] == "b")
            bound, error = agent["clock_error_us"], abs(agent["clock_offset_us"])
            found += [(bound < 5000, f"bound {bound} us"), (error > bound or error < 5000, f"error {error} us, bound {bound} us")]
        fleet.left = fleet.end()
        relay.end()
        return fleet, found

    return row


def broken(target):
    """The connection of agent b is broken every 1 to 3 s."""
    relay = Relay(PORT + 2, PORT, lives_s=(1.0, 3.0))
    fleet = Fleet(url=dict(b=f"nats://127.0.0.1:{PORT + 2}"))
    run = Run(fleet, target)
    found = list(run.whole())
    found.append((relay.connections < 4, f"{relay.connections} connections"))
    fleet.left = fleet.end()
    relay.end()
    return fleet, found


def lossy(target):
    """Of the messages of all agents, each way."""
    relay = Relay(PORT + 2, PORT, lost=LOST, doubled=LOST)
    fleet = Fleet(url={name: f"nats://127.0.0.1:{PORT + 2}" for name in AGENTS})
    run = Run(fleet, target)
    found = list(run.whole())
    found.append((not relay.lost or not relay.doubled, f"{relay.lost} messages lost, {relay.doubled} doubled"))
    fleet.left = fleet.end()
    relay.end()
    return fleet, found


def full_disk(target):
    """The state directory of agent b has no room."""
    with tempfile.TemporaryDirectory(prefix="brunt-full-") as place:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", place], check=True)
        try:
            pathlib.Path(place, "ballast").write_bytes(bytes(12 << 10))
            fleet = Fleet(wrap=dict(b=["env", f"BRUNT_STATE_DIR={place}"]))
            run = Run(fleet, target)
            found = list(run.common())
            found.append((run.code != 1 or "agent b" not in run.told, f"exit {run.code}: {run.told}"))
            fleet.left = fleet.end()
        finally:
            subprocess.run(["umount", "-l", place])
    return fleet, found


def few_files(target):
    fleet = Fleet(wrap=dict(b=["sh", "-c", 'ulimit -n 40; exec "$@"', "sh"]))
    run = Run(fleet, target, connections=300)
    return fleet, list(run.refused("agent b"))


def monotonic(target):
    fleet = Fleet(offsets=dict(b=3600))
    run = Run(fleet, target)
    found = list(run.whole())
    for agent in run.result["fleet"]["agents"] if run.result else []:
        error = abs(agent["clock_offset_us"] - (3600e6 if agent["id"] == "b" else 0))
        found.append((error > agent["clock_error_us"], f"error {error} us"))
    return fleet, found


def wall_clock(target):
    fleet = Fleet(wrap=dict(b=["env", "FAKETIME_DONT_FAKE_MONOTONIC=1", "faketime", "-f", "+1h"]))
    return fleet, list(Run(fleet, target).whole())


def abandoned(target):
    """The coordinator is killed once agents are reserved. If they have been told to begin, they have the first lease and no other."""
    fleet = Fleet()

    def early(load):
        while not any(agent["busy"] for agent in fleet.ls().values()):
            pass
        load.kill()

    run = Run(fleet, target, early=early)
    ready = fleet.until_ready(limit=32)
    return fleet, [(ready is None, "agents not free after 32 s"), (target.count > RATE * 5, f"{target.count} messages were sent")]


def rivals(target):
    """Two coordinators at once, for one of which the agents are."""
    fleet = Fleet()
    target.reset()
    # Longer than the eight tries of the other, which are at most 2 s apart.
    flags = ["-R", str(RATE), "-d", "16", "--warmup", "0s"]
    both = [fleet.load(*flags, out=f"{name}.json") for name in "xy"]
    ends = [(load, load.communicate()[1].decode().strip()) for load in both]
    found = [(sorted(load.returncode for load, _ in ends) != [0, 1], f"{[(load.returncode, told) for load, told in ends]}")]
    for name, (load, told) in zip("xy", ends):
        result = fleet.result(f"{name}.json")
        if load.returncode == 0:
            requests = result["requests"]
            found.append((requests["due"] != 16 * RATE or target.count != requests["completed"] + requests["unanswered"], f"{requests}, {target.count}"))
        else:
            found.append(("pid " not in told or "agent " not in told, told))
    found.append((fleet.until_ready() is None, "agents not free after 75 s"))
    return fleet, found


ROWS = {
    "nats-server killed, back after 1.5 s": (server(1.5), "whole"),
    "nats-server killed, back after 20 s": (server(20), "cut off; collected"),
    "nats-server stopped for 1.5 s": (server_stopped(1.5), "whole"),
    "nats-server stopped for 10 s": (server_stopped(10), "cut off"),
    "coordinator stopped for 3 s": (coordinator_stopped(3), "whole"),
    "coordinator stopped for 10 s": (coordinator_stopped(10), "cut off"),
    "agent cut from the server for 2 s, both ways": (cut("control", True, True, 2), "whole"),
    "agent cut from the server for 10 s, both ways": (cut("control", True, True, 10), "cut off"),
    "for 10 s, to the agent": (cut("control", True, False, 10), "cut off"),
    "for 10 s, from the agent": (cut("control", False, True, 10), "cut off"),
    "agent cut from the target for 2 s": (cut("load", True, True, 2), "requests failed, no agent lost"),
    "60 ms to the server, 40 ms back": (relayed(False), "refused"),
    "the same with --allow-skew": (relayed(True), "whole"),
    "connection to the server broken every 1 to 3 s": (broken, "whole"),
    f"{LOST * 100:.0f} % of all messages lost, as many doubled, each way": (lossy, "whole"),
    "disk of an agent full": (full_disk, "named"),
    "too few files of an agent": (few_files, "refused"),
    "monotonic clock of an agent 1 h ahead": (monotonic, "whole"),
    "wall clock of an agent 1 h ahead": (wall_clock, "whole"),
    "coordinator killed once agents are reserved": (abandoned, "at most a lease of 5 s; free after 32 s"),
    "two coordinators at once": (rivals, "one whole, one refused"),
}


def faults(target, count, only=""):
    rows = []
    for name, (row, expected) in ROWS.items():
        if only not in name:
            continue
        wrong = []
        for _ in range(count):
            began = time.monotonic()
            fleet, found = row(target)
            left = fleet.left if hasattr(fleet, "left") else fleet.end()
            wrong += [text for is_so, text in [*found, (left, f"{left} processes left")] if is_so]
            print(f"{name}: {time.monotonic() - began:.0f} s {wrong}", file=sys.stderr, flush=True)
        rows.append((name, expected, count, len(wrong), "; ".join(sorted(set(wrong)))[:300] or "-"))
    table(["fault", "expected", "runs", "not so", "what"], rows)
