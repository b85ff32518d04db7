# SPDX-License-Identifier: GPL-2.0-only
"""Finding VMs: `kvmprof list` and src/vm against QEMU's own words, in a lab host.

vCPU threads, memory slots, guest memory, registers; CPUs and memory plugged in later; the end of a
VM; a VMM in a container; both ways to read the kernel's memory.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time

LAB = os.path.join(os.environ["SRC"], "lab/lab")
KVMPROF = os.environ["KVMPROF"]
INSPECT = os.path.join(os.environ["BUILD"], "tests/vm-inspect")
SCRATCH = os.environ["TMPDIR"]
MIB = 1 << 20

POINTS = []


def report(good, name, why=""):
    POINTS.append(good)
    print(f"{'ok' if good else 'not ok'} {len(POINTS)} - {name}")
    if not good:
        for line in str(why).splitlines():
            print(f"# {line}")
    sys.stdout.flush()


def same(name, wanted, got):
    report(wanted == got, name, f"wanted: {wanted}\ngot:    {got}")


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def kvmprof_list(*arguments):
    return run(KVMPROF, "list", *arguments)


def listed(*arguments):
    result = kvmprof_list("--json", *arguments)
    if result.returncode:
        return result.stderr
    return json.loads(result.stdout)["guests"]


class Guest:
    """A guest of the lab, and the QEMU that runs it."""

    def __init__(self, name, *options):
        self.name = name
        result = run(LAB, "guest", "start", name, *options)
        if result.returncode:
            raise RuntimeError(result.stderr)
        self.pid = int(result.stdout.split()[-1])
        folder = run(LAB, "guest", "dir", name).stdout.strip()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(os.path.join(folder, "qmp"))
        self.stream = self.socket.makefile("rw", encoding="utf-8")
        self.stream.readline()  # the greeting
        self.qmp("qmp_capabilities")

    def qmp(self, command, **arguments):
        """One command over a connection that stays: starting a program takes a second here."""
        request = {"execute": command}
        if arguments:
            request["arguments"] = arguments
        self.stream.write(json.dumps(request) + "\n")
        self.stream.flush()
        answer = json.loads(self.stream.readline())
        while "event" in answer:
            answer = json.loads(self.stream.readline())
        if "error" in answer:
            raise RuntimeError(f"{command}: {answer['error']}")
        return answer["return"]

    def monitor(self, line):
        return self.qmp("human-monitor-command", **{"command-line": line})

    def threads(self):
        """Thread of each vCPU, in the order of their numbers."""
        cpus = self.qmp("query-cpus-fast")
        return [cpu["thread-id"] for cpu in sorted(cpus, key=lambda cpu: cpu["cpu-index"])]

    def ram(self):
        """What QEMU has given to KVM as memory, as merged ranges."""
        views = self.monitor("info mtree -f").replace("\r", "").split("\n\n")
        view = next(view for view in views if 'AS "memory"' in view)
        ranges = re.findall(r"^ +([0-9a-f]+)-([0-9a-f]+) .*\bKVM$", view, re.M)
        return merge((int(first, 16), int(last, 16) + 1) for first, last in ranges)

    def stop(self):
        run(LAB, "guest", "stop", self.name)


def merge(ranges):
    merged = []
    for start, end in sorted(ranges):
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


class Inspect:
    """tests/lab/vm-inspect.c: one view of a VM that is kept while the VM changes."""

    def __init__(self, source, pid):
        self.process = subprocess.Popen([INSPECT, source, str(pid)], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.found = self.ask("scan")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        lines = []
        while True:
            answer = self.process.stdout.readline()
            if answer in (".\n", ""):
                return lines
            lines.append(answer.rstrip("\n"))

    def slots(self):
        return [[int(word, 16) for word in line.split()] for line in self.ask("slots")]

    def ranges(self):
        return merge((gpa, gpa + size) for gpa, size, _, _ in self.slots())

    def vcpus(self):
        return [line.split() for line in self.ask("vcpus")]

    def read(self, gpa, size):
        path = os.path.join(SCRATCH, "read")
        answer = self.ask(f"read {gpa:x} {size:x} {path}")
        if answer != ["ok"]:
            return answer
        with open(path, "rb") as file:
            return file.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def test_no_guest():
    result = kvmprof_list()
    same("no guest: exit status", 0, result.returncode)
    report("no KVM guest" in result.stderr and not result.stdout, "no guest: says so",
           result.stdout + result.stderr)
    same("no guest: JSON", [], listed())


def test_list(guest):
    rows = listed()
    report(isinstance(rows, list) and len(rows) == 1, "list: one guest", rows)
    row = rows[0]
    wanted = {"name": guest.name, "vmm": "qemu", "pid": guest.pid, "vcpus": 2,
              "threads": guest.threads(), "memory": 256 * MIB, "kick": "SIGUSR1",
              "capture": ["inline", "deferred", "ptrace"], "os": "Linux", "protected": None,
              "why_not": []}
    for key, value in wanted.items():
        same(f"list: {key}", value, row[key])
    report(re.fullmatch(r"6\.1\.\d+-\d+-amd64", row["kernel"] or ""), "list: kernel", row["kernel"])
    same("list: the same through kcore", rows, listed("--source", "kcore"))
    table = kvmprof_list("--noheadings", "-o", "pid,name")
    same("list: columns", [str(guest.pid), guest.name], table.stdout.split())
    same("list: another process", [], listed("-p", str(os.getpid()), "-o", "name"))
    same("list: that process", [{"name": guest.name}], listed("-p", str(guest.pid), "-o", "name"))


def test_user():
    result = run("setpriv", "--reuid=65534", "--clear-groups", KVMPROF, "list")
    same("list: not root: exit status", 1, result.returncode)
    report("root" in result.stderr and result.stderr.count("\n") == 1,
           "list: not root: one line that says what to do", result.stderr)


def test_slots(guest, view, source):
    same(f"{source}: memory slots are what QEMU gave to KVM", guest.ram(), view.ranges())
    slots = view.slots()
    hvas = [(hva, hva + size) for _, size, hva, _ in slots]
    with open(f"/proc/{guest.pid}/maps", encoding="utf-8") as file:
        maps = merge(tuple(int(word, 16) for word in line.split()[0].split("-")) for line in file)
    report(all(any(start <= low and high <= end for start, end in maps) for low, high in hvas),
           f"{source}: slots lie in the VMM's mappings", slots)
    with open(f"/proc/{guest.pid}/maps", encoding="utf-8") as file:
        pages = {line.rsplit(":", 1)[1].strip(): line.split("-")[0].lstrip("0")
                 for line in file if "anon_inode:kvm-vcpu:" in line}
    same(f"{source}: vCPUs, threads and run pages",
         [[str(i), str(tid), pages[str(i)]] for i, tid in enumerate(guest.threads())],
         view.vcpus())


def test_memory(guest, view, source):
    """The guest stands still: what QEMU writes out is what we must read."""
    same(f"{source}: memory opens", ["ok"], view.ask("open"))
    for gpa, size in ((16 * MIB, 4 * MIB), (0x1000, 0x9000), (0xf0000, 0x10000),
                      (0x100000 - 0x1000, 0x2000), (0xffff0000, 0x10000)):
        path = os.path.join(SCRATCH, "pmemsave")
        guest.monitor(f'pmemsave {gpa:#x} {size:#x} "{path}"')
        with open(path, "rb") as file:
            wanted = file.read()
        got = view.read(gpa, size)
        report(wanted == got and len(set(wanted)) > 1, f"{source}: {size:#x} bytes at {gpa:#x}",
               got if isinstance(got, list) else "the bytes differ")
    same(f"{source}: a hole is a fault", True, view.read(0xd0000000, 16)[0].startswith("error 14"))


def test_regs(guest, view, source):
    text = guest.monitor("info registers -a")
    cpus = re.split(r"CPU#\d+", text)[1:]
    for number, cpu in enumerate(cpus):
        wanted = dict(re.findall(r"\b(R[A-Z0-9]{1,2}|CR[034]|EFER) ?=([0-9a-f]+)", cpu))
        wanted.update(re.findall(r"\b(FS|GS) =[0-9a-f]+ ([0-9a-f]+)", cpu))
        wanted["CPL"] = re.search(r"CPL=(\d)", cpu)[1]
        wanted["RFL"] = re.search(r"RFL=([0-9a-f]+)", cpu)[1]
        got = dict(line.split("=") for line in view.ask(f"regs {number}"))
        different = [f"{key}: QEMU {wanted[key]}, we {got.get(key)}" for key in wanted
                     if int(wanted[key], 16) != int(got.get(key, "-1"), 16)]
        report(len(wanted) > 20 and not different, f"{source}: registers of vCPU {number}",
               "\n".join(different) or wanted)


def test_view(guest, source):
    view = Inspect(source, guest.pid)
    same(f"{source}: found", ["1"], view.found)
    test_slots(guest, view, source)
    guest.qmp("stop")
    test_memory(guest, view, source)
    test_regs(guest, view, source)
    guest.qmp("cont")
    same(f"{source}: nothing has changed", ["same"], view.ask("refresh"))
    return view


def plug(guest):
    """One more CPU and 128 MiB, and waits until the guest uses the CPU."""
    free = next(cpu for cpu in guest.qmp("query-hotpluggable-cpus") if "qom-path" not in cpu)
    guest.qmp("device_add", driver=free["type"], id="cpu-more", **free["props"])
    guest.qmp("object-add", **{"qom-type": "memory-backend-ram", "id": "more", "size": 128 * MIB})
    guest.qmp("device_add", driver="pc-dimm", id="dimm-more", memdev="more")
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if all(os.path.exists(f"/proc/{guest.pid}/task/{tid}") for tid in guest.threads()):
            break
        time.sleep(0.2)


def test_hotplug(guest, view):
    before = view.ranges()
    plug(guest)
    same("hotplug: slots have changed", ["changed"], view.ask("refresh"))
    same("hotplug: slots are QEMU's", guest.ram(), view.ranges())
    report(sum(end - start for start, end in view.ranges()) ==
           sum(end - start for start, end in before) + 128 * MIB, "hotplug: 128 MiB more",
           view.ranges())
    new = next(gpa for gpa, size, _, _ in view.slots() if size == 128 * MIB)
    same("hotplug: the new memory can be read", 4096, len(view.read(new, 4096)))
    same("hotplug: found again", ["1"], view.ask("scan"))
    same("hotplug: three vCPUs, their threads", [str(tid) for tid in guest.threads()],
         [tid for _, tid, _ in view.vcpus()])
    same("hotplug: list", [{"vcpus": 3, "memory": 384 * MIB}], listed("-o", "vcpus,memory"))


def test_gone(guest, views):
    for view in views:
        view.ask("open")
    guest.stop()
    for source, view in zip(("bpf", "kcore"), views):
        same(f"gone, {source}: slots", ["error 3: No such process"], view.ask("refresh"))
        same(f"gone, {source}: memory", ["error 3: No such process"], view.read(0x1000, 16))
        same(f"gone, {source}: scan", ["0"], view.ask("scan"))
        view.close()
    same("gone: list", [], listed())


def test_container():
    """A VMM whose pids are not the host's."""
    command = f"'{LAB}' guest start boxed --ready '' --mem 128M && sleep 1000"
    box = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
                            command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows, end = [], time.monotonic() + 30
    # A vCPU has no thread until it first runs.
    while not (rows and all(rows[0]["threads"])) and time.monotonic() < end:
        rows = listed("-o", "name,pid,threads")
    pid = int(run("pgrep", "-f", "qemu-system.*name boxed").stdout.split()[0])
    same("container: pid as the host has it", [("boxed", pid)],
         [(row["name"], row["pid"]) for row in rows])
    report(rows and all(os.path.exists(f"/proc/{pid}/task/{tid}") for tid in rows[0]["threads"]),
           "container: threads as the host has them", rows)
    same("container: the same through kcore", rows,
         listed("--source", "kcore", "-o", "name,pid,threads"))
    box.kill()
    box.wait()


def main():
    test_no_guest()
    guest = Guest("web", "--kernel", "6.1", "--cpus", "2", "--hotplug")
    test_list(guest)
    test_user()
    views = [test_view(guest, source) for source in ("bpf", "kcore")]
    test_hotplug(guest, views[0])
    test_gone(guest, views)
    test_container()
    print(f"1..{len(POINTS)}")
    return 0 if all(POINTS) else 1


if __name__ == "__main__":
    sys.exit(main())
