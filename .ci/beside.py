"""What goes on beside a run of the tests: nothing, two busy loops, or pauses of the whole tree."""

import os, subprocess, sys, threading, time
from pathlib import Path


class Busy:
    """Two loops that compete for the cores, thread against thread. Linux 6.18, if it shares out time by session (autogroup), lets one
    session run for up to a second while kernel threads wait, and holds up jobs of least weight for minutes; so it is told not to."""

    AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")

    def __enter__(self):
        before = self.AUTOGROUP.read_text() if self.AUTOGROUP.exists() else ""
        setting = self.AUTOGROUP if before else Path("/dev/null")
        setting.write_text("0")
        self.loops = [subprocess.Popen([sys.executable, "-c", LOOP, str(os.getpid()), str(setting), before]) for _ in range(2)]

    def __exit__(self, *_):
        for loop in self.loops:
            loop.terminate()
            loop.wait()


# They end with the suite, however that ends, and leave the setting as it was.
LOOP = """
import os, signal, sys
suite, setting, before = sys.argv[1:]
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
try:
    while os.getppid() == int(suite):
        for _ in range(1000000):
            pass
finally:
    open(setting, "w").write(before)
"""


class Pauses:
    """A freezer cgroup that stops this process's children for 5 to 50 ms at random, about a tenth of the time."""

    FREEZER = Path("/sys/fs/cgroup/freezer")

    def __enter__(self):
        if not self.FREEZER.is_dir():
            sys.exit(f".ci/suite: {self.FREEZER} is missing: mount -t cgroup -o freezer none {self.FREEZER}")
        own = Path(f"/proc/self/cgroup").read_text().splitlines()
        base = next(line.split(":", 2)[2] for line in own if ":freezer:" in line)
        self.home = self.FREEZER / base.lstrip("/")
        self.group = self.home / f"brunt-suite-{os.getpid()}"
        self.group.mkdir()
        # The whole tree of tests: they are started by a process in the group, and this thread's process leaves it again.
        (self.group / "cgroup.procs").write_text("0")
        self.stop = threading.Event()
        # The helper that freezes must not be frozen itself.
        self.freezer = subprocess.Popen([sys.executable, "-c", FREEZE, str(self.group), str(self.home), str(os.getpid())])

    def __exit__(self, *_):
        self.freezer.terminate()
        self.freezer.wait()
        (self.group / "freezer.state").write_text("THAWED")
        (self.home / "cgroup.procs").write_text("0")
        for _ in range(100):
            try:
                self.group.rmdir()
                return
            except OSError:
                time.sleep(0.05)


FREEZE = """
import os, random, sys, time, signal
group, home, suite = sys.argv[1:]
open(home + "/cgroup.procs", "w").write("0")
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
def state(word):
    open(group + "/freezer.state", "w").write(word)
try:
    # If the suite was killed, what is left of its tree must not be frozen.
    while os.getppid() == int(suite):
        time.sleep(random.uniform(0.05, 0.45))
        state("FROZEN")
        time.sleep(random.uniform(0.005, 0.05))
        state("THAWED")
finally:
    state("THAWED")
"""


class Idle:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass
