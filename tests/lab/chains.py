#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reads `kvmprof script -F +stop` (or `perf script`) output and checks it against what is known
of the lab's workloads. Used by the lab tests; prints one TAP line a check.

Reads the checks from standard input: CHECK FILE [OPTION…], a word a line, an empty line after each
check. They are the functions named check_*. A word %/NAME is a file of the folder that is given as
argument. A file is text, or a perf.data that stock perf is to print. Exit status 0 unless a check
could not be made.
"""
import argparse
import bisect
import collections
import functools
import io
import math
import os
import re
import subprocess
import sys

HEADER = re.compile(r"^\s*(?P<comm>.*?)\s+(?:(?P<pid>-?\d+)/)?(?P<tid>-?\d+)\s+(?:\[(?P<cpu>\d+)\]\s+)?"
                    r"(?P<time>\d+\.\d+):\s*(?:(?P<period>\d+)\s+)?(?P<event>[^\s]+):\s*(?P<rest>.*)$")
FRAME = re.compile(r"^\s+(?P<ip>[0-9a-f]+)\s+(?P<sym>.*?)(?:\+0x(?P<off>[0-9a-f]+))?\s+\((?P<dso>.*)\)\s*$")
STOP = re.compile(r"\[stop: (?P<stop>[^\]]*)\]")


class Sample:
    def __init__(self, comm, tid, cpu, stop):
        self.comm, self.tid, self.cpu, self.stop = comm, tid, cpu, stop
        self.frames = []  # (ip, symbol, dso), innermost first
        self.offsets = []  # of each ip in its symbol, None: not said

    def add_frame(self, frame):
        """@frame: a match of FRAME."""
        self.frames.append((address_of(frame), frame["sym"], frame["dso"]))
        self.offsets.append(int(frame["off"], 16) if frame["off"] else None)

    def kernel(self):
        return bool(self.frames) and self.frames[0][0] >> 63 == 1

    def names(self, symbols=None):
        """Function names, innermost first; user frames by @symbols when given."""
        names = []
        for ip, sym, dso in self.frames:
            if ip >> 63 == 0 and symbols:
                names.append(symbols.find(symbols.address(ip, dso)))
            else:
                names.append(sym)
        return names


def open_script(path, kallsyms, guest):
    """The lines of a script's output; @guest: those of a guest, too, that perf knows nothing of."""
    with open(path, "rb") as file:
        if file.read(8) != b"PERFILE2":
            return open(path, errors="replace")
    command = ["perf", "script", "-i", path] + (["--kallsyms", kallsyms] if kallsyms else []) + (
        ["--guestkallsyms", os.devnull] if guest else [])
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as perf:
        return io.StringIO(perf.communicate()[0].decode(errors="replace"))


def address_of(frame):
    """Of a Linux kernel of 32 bits in the upper half, too, as any other's."""
    ip = int(frame["ip"], 16)
    if 1 << 31 <= ip < 1 << 32 and frame["dso"] == "[kernel.kallsyms]":
        return ip | 0xffffffff << 32
    return ip


@functools.lru_cache(maxsize=4)
def read_samples(path, kallsyms=None, guest=False):
    samples, sample = [], None
    with open_script(path, kallsyms, guest) as lines:
        for line in lines:
            frame = FRAME.match(line)
            if frame and sample:
                sample.add_frame(frame)
                continue
            header = HEADER.match(line)
            if not header:
                continue
            stop = STOP.search(header["rest"])
            sample = Sample(header["comm"].strip(), int(header["tid"]),
                            int(header["cpu"] or 0), stop["stop"].split(",")[0] if stop else None)
            sample.marks = stop["stop"].split(", ")[1:] if stop else []
            samples.append(sample)
            # Where there is no chain, perf puts the address beside the event.
            frame = FRAME.match(" " + header["rest"])
            if frame:
                sample.add_frame(frame)
    return samples


class Symbols:
    """Function symbols of one static executable, by nm."""

    def __init__(self, binary):
        rows = []
        out = subprocess.run(["nm", "-n", "--defined-only", binary], check=True,
                             capture_output=True, text=True).stdout
        for line in out.splitlines():
            addr, kind, name = line.split(None, 2)
            if kind in "tTwW":
                rows.append((int(addr, 16), name))
        self.starts = [row[0] for row in rows]
        self.names = [row[1] for row in rows]
        out = subprocess.run(["readelf", "-lW", binary], check=True, capture_output=True,
                             text=True).stdout
        self.loads = [tuple(int(word, 16) for word in line.split()[1:6])
                      for line in out.splitlines() if line.startswith("  LOAD ")]

    def address(self, ip, dso):
        """As nm has it: what is printed is an offset in the file where it is known."""
        if dso == "[unknown]":
            return ip
        for offset, vaddr, _, size, _ in self.loads:
            if offset <= ip < offset + size:
                return ip - offset + vaddr
        return ip

    def find(self, ip):
        i = bisect.bisect_right(self.starts, ip) - 1
        return self.names[i] if i >= 0 else "?"


class Tap:
    def ok(self, good, name, detail=""):
        print(f"{'ok' if good else 'not ok'} - {name}" + (f" # {detail}" if good and detail else ""),
              flush=True)
        if not good and detail:
            print(f"# {detail}", flush=True)


def check_complete(tap, args):
    """Share of the chains that start in the guest's kernel and end as they should."""
    total, complete, reasons = 0, 0, collections.Counter()
    for sample in read_samples(args.file):
        if not sample.kernel() or not re.fullmatch(args.comm, sample.comm):
            continue
        total += 1
        if sample.stop == "complete":
            complete += 1
        else:
            reasons[sample.stop] += 1
    share = 100 * complete / total if total else 0
    # Of a few hundred chains the share is known to a point or so: allow for chance there. What the
    # whole recording comes to is checked as it stands (--sigmas 0).
    chance = args.sigmas * math.sqrt(args.min * (100 - args.min) / max(total, 1))
    tap.ok(total >= args.min_samples and share >= args.min - chance,
           f"{args.label}: chains from the kernel are complete",
           f"{complete} of {total} = {share:.2f} %, others {dict(reasons)}")


def check_user(tap, args):
    """Share of a program's chains that end at the thread's first frame, and how they end by name."""
    total, complete, reasons, ends = 0, 0, collections.Counter(), collections.Counter()
    for sample in read_samples(args.file):
        if not re.fullmatch(args.comm, sample.comm) or not sample.frames:
            continue
        total += 1
        complete += sample.stop == "complete"
        if sample.stop != "complete":
            reasons[sample.stop] += 1
        elif sample.frames[-1][0] >> 63 == 0:
            ends[sample.frames[-1][1]] += 1
    share = 100 * complete / total if total else 0
    chance = args.sigmas * math.sqrt(args.min * (100 - args.min) / max(total, 1))
    tap.ok(total >= args.min_samples and share >= args.min - chance,
           f"{args.label}: chains reach the thread's first frame",
           f"{complete} of {total} = {share:.2f} %, others {dict(reasons)}, ends {ends.most_common(4)}")
    if not args.end:
        return
    wrong = sum(nr for name, nr in ends.items() if not re.fullmatch(args.end, name))
    tap.ok(wrong <= 0.01 * total, f"{args.label}: complete chains end at an entry",
           f"{wrong} of {total} do not, {ends.most_common(6)}")


def check_named(tap, args):
    """Frames in one binary have names, and the right ones: nm says where each function begins."""
    starts = collections.defaultdict(set)
    for binary in args.binary.split(","):
        symbols = Symbols(binary)
        for start, name in zip(symbols.starts, symbols.names):
            starts[name].add(start % 4096)
    total, unknown, wrong = 0, 0, collections.Counter()
    for sample in read_samples(args.file):
        if not re.fullmatch(args.comm, sample.comm):
            continue
        for (ip, name, dso), offset in zip(sample.frames, sample.offsets):
            if ip >> 63 or not re.search(args.dso, dso):
                continue
            total += 1
            if name == "[unknown]" or offset is None:
                unknown += 1
            elif name in starts and (ip - offset) % 4096 not in starts[name]:
                wrong[name] += 1
            elif name not in starts and not args.demangled:
                wrong[name] += 1
    share = 100 * (total - unknown) / total if total else 0
    tap.ok(total >= args.min_samples and share >= 95 and not wrong,
           f"{args.label}: frames have their right names",
           f"{total - unknown} of {total} = {share:.2f} % named, wrong {wrong.most_common(5)}")


def check_shares(tap, args):
    """The CPU tree: share of each branch among the samples in user mode of that program."""
    symbols = Symbols(args.binary)
    want = dict(pair.split("=") for pair in args.want.split(","))
    total, found, broken = 0, collections.Counter(), 0
    for sample in read_samples(args.file):
        if sample.comm != args.comm or sample.kernel() or not sample.frames:
            continue
        names = sample.names(symbols)
        branches = [name for name in names if name in want]
        total += 1
        found[branches[-1] if branches else "none"] += 1
        broken += names[-1] != args.entry
    for name, percent in want.items():
        share = 100 * found[name] / total if total else 0
        tap.ok(total >= args.min_samples and abs(share - float(percent)) <= args.within,
               f"{args.label}: {name} has {percent} %",
               f"{share:.1f} % of {total} samples")
    share = 100 * broken / total if total else 100
    tap.ok(share <= 3, f"{args.label}: user chains end at {args.entry}",
           f"{broken} of {total} do not = {share:.2f} %")


def kernel_paths(samples, comm):
    """Which kernel functions were seen below which: the set of (caller, callee) pairs."""
    functions = collections.Counter()
    for sample in samples:
        if not re.fullmatch(comm, sample.comm):
            continue
        for name in {sym for ip, sym, _ in sample.frames if ip >> 63}:
            functions[name] += 1
    return functions


def check_functions(tap, args):
    """Functions on each system call's path, as the guest's own perf saw them, are seen by us."""
    ours = kernel_paths(read_samples(args.file), args.comm)
    peer = read_samples(args.peer, args.kallsyms)
    theirs = kernel_paths(peer, args.comm)
    total = sum(1 for s in peer if re.fullmatch(args.comm, s.comm) and s.kernel())
    # Rare functions are a matter of luck on both sides: compare those in 2 % of perf's samples.
    common = [name for name, nr in theirs.items()
              if nr >= max(10, total * 0.02) and name != "[unknown]"]
    missing = [name for name in common if not ours[name]]
    tap.ok(len(common) >= args.min_functions and not missing,
           f"{args.label}: functions that the guest's own perf shows",
           f"{len(common) - len(missing)} of {len(common)} seen, missing {missing[:10]}")


def check_paths(tap, args):
    """Paths that are known to be taken are seen; with --peer also what check_functions() does."""
    if args.peer:
        check_functions(tap, args)
    for path in args.path or []:
        want = path.split(">")
        seen = any(is_subsequence(want, list(reversed(s.names())))
                   for s in read_samples(args.file) if re.fullmatch(args.comm, s.comm))
        tap.ok(seen, f"{args.label}: path {path}")


def is_subsequence(want, names):
    rest = iter(names)
    return all(any(re.fullmatch(w, name) for name in rest) for w in want)


def without_entry(sample):
    """
    The frames but for an interrupt's entry alone: a vCPU that is to be stopped may be given its
    pending interrupt first, and then stands at the first instruction of that.
    """
    frames = sample.frames
    is_entry = sample.kernel() and frames[0][1].startswith("asm_") and \
        (len(frames) == 1 or frames[1][0] >> 63 == 0)
    return frames[1:] if is_entry else frames


def distribution(path, args):
    chains = collections.Counter()
    for sample in read_samples(path):
        if not re.fullmatch(args.comm, sample.comm) or not sample.frames:
            continue
        if args.entered and args.others == any(re.fullmatch(args.entered, sym) for ip, sym, _
                                               in sample.frames if ip >> 63):
            continue
        # By function, as addresses within a loop vary.
        chains[tuple((ip if ip >> 63 == 0 else sym)
                     for ip, sym, _ in without_entry(sample)[1:])] += 1
    return chains


def check_agree(tap, args):
    """
    Two recordings of the same workload: each frequent chain's share differs by chance only. With
    --entered NAME of the chains through that kernel function alone, with --others of the rest.
    """
    compare_distributions(tap, args, distribution(args.file, args),
                          distribution(args.peer, args))


def user_distribution(path, comm):
    """The user part by name of each chain."""
    chains = collections.Counter()
    for sample in read_samples(path):
        # Of the vDSO a reader elsewhere may have no or another one.
        user = tuple("[vdso]" if dso == "[vdso]" else plain_name(sym)
                     for ip, sym, dso in sample.frames if ip >> 63 == 0)
        if re.fullmatch(comm, sample.comm) and user:
            chains[user] += 1
    return chains


def check_hottest(tap, args):
    """The same of the user parts alone and by name, as an unwinder elsewhere gives them."""
    compare_distributions(tap, args, user_distribution(args.file, args.comm),
                          user_distribution(args.peer, args.comm))


def compare_distributions(tap, args, a, b):
    na, nb = sum(a.values()), sum(b.values())
    worst, off = 0.0, []
    if not na or not nb:
        tap.ok(False, f"{args.label}: same distribution of chains", f"{na} and {nb} samples")
        return
    frequent = [chain for chain, nr in (a + b).most_common(20) if nr >= (na + nb) * 0.01]
    for chain in frequent:
        p, q = a[chain] / na, b[chain] / nb
        pooled = (a[chain] + b[chain]) / (na + nb)
        sigma = math.sqrt(pooled * (1 - pooled) * (1 / na + 1 / nb))
        z = abs(p - q) / sigma if sigma else 0
        # The guest's own load drifts from one recording to the next: a floor of some points.
        if z > args.sigmas and abs(p - q) > args.floor / 100:
            off.append(f"{100 * p:.1f} % against {100 * q:.1f} %: {chain[:3]}")
        worst = max(worst, abs(p - q))
    tap.ok(min(na, nb) >= args.min_samples and not off,
           f"{args.label}: same distribution of chains",
           f"{len(frequent)} frequent chains, {na} and {nb} samples, "
           f"largest difference {100 * worst:.1f} points; {off[:3]}")


def check_names(tap, args):
    """Comms that must be there, and the share of kernel frames without a name."""
    samples = read_samples(args.file)
    comms = {sample.comm for sample in samples}
    for comm in args.comms.split(","):
        tap.ok(any(re.fullmatch(comm, seen) for seen in comms), f"{args.label}: comm {comm}",
               f"{sorted(comms)[:20]}")
    frames = [f for s in samples for f in s.frames if f[0] >> 63]
    unknown = sum(1 for f in frames if f[1] == "[unknown]")
    share = 100 * unknown / len(frames) if frames else 100
    tap.ok(share <= args.max_unknown, f"{args.label}: kernel frames have names",
           f"{unknown} of {len(frames)} have none")


def plain_name(name):
    """Without the version of a dynamic symbol."""
    return re.sub(r"@.*", "", name)


def check_alike(tap, args):
    """User frames that perf names, with the guest's files, in the same recording: named alike."""
    named, ours, alike, differ = 0, 0, 0, collections.Counter()
    files = collections.Counter()
    samples, peers = read_samples(args.file), read_samples(args.peer)
    for sample, peer in zip(samples, peers):
        for (ip, name, dso), (_, theirs, _) in zip(sample.frames, peer.frames):
            if ip >> 63 or theirs == "[unknown]":
                continue
            named += 1
            ours += name != "[unknown]"
            alike += plain_name(name) == plain_name(theirs)
            if name == "[unknown]":
                files[dso] += 1
            elif plain_name(name) != plain_name(theirs):
                differ[f"{name} for {theirs}"] += 1
    total = sum(1 for s in samples for frame in s.frames if frame[0] >> 63 == 0)
    share, share_alike = (100 * nr / named if named else 0 for nr in (ours, alike))
    same_frames = len(samples) == len(peers) and all(
        len(s.frames) == len(p.frames) for s, p in zip(samples, peers))
    tap.ok(same_frames, f"{args.label}: perf reads the same frames",
           f"{len(samples)} and {len(peers)} samples")
    tap.ok(named >= args.min_samples and share >= args.min and share_alike >= args.min,
           f"{args.label}: frames are named as perf does with the guest's files",
           f"of {total} user frames perf names {named}; of those {share:.2f} % named, "
           f"{share_alike:.2f} % alike; without a name {files.most_common(8)}; "
           f"other names {differ.most_common(12)}")


INSN = re.compile(r"^\s*([0-9a-f]+):")


@functools.lru_cache
def call_sites(binary):
    """Return address of each call in @binary to the name of what it calls; None: anything."""
    sites, pending = {}, False
    out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-w", binary], check=True,
                         capture_output=True, text=True).stdout
    for line in out.splitlines():
        match = INSN.match(line)
        if not match:
            continue
        if pending is not False:
            sites[int(match[1], 16)] = pending
            pending = False
        call = re.search(r"\tcall\w*\s+(?:[0-9a-f]+ <([^>+]+)>|\*)", line)
        if call:
            pending = call[1]
    return sites


ENTRIES = ("_start", "thread_entry", "rt_clone")
CALLED_BY_ENTRIES = ("main", "thread_main")


def inconsistency(sample, symbols, sites):
    """Why the user part cannot be a chain of this program, or None."""
    user = [symbols.address(ip, dso) for ip, _, dso in sample.frames if ip >> 63 == 0]
    for callee, ret in zip(user, user[1:]):
        if ret not in sites:
            return f"{ret:#x} follows no call"
        name = symbols.find(callee)
        # The leaf may have been interrupted before it made its frame: its caller is then missing.
        if callee != user[0] and sites[ret] and sites[ret] != name:
            return f"{symbols.find(ret)} calls {sites[ret]}, not {name}"
    # The same when the entry's own callee has no frame yet, or no more: then it is all there is.
    ends = ENTRIES + (CALLED_BY_ENTRIES if len(user) == 1 else ())
    if user and symbols.find(user[-1]) not in ends:
        return f"ends at {symbols.find(user[-1])}"
    return None


def check_consistent(tap, args):
    """Chains that are not marked are ones that the program can have had."""
    symbols, sites = Symbols(args.binary), call_sites(args.binary)
    total, marked, bad = 0, 0, []
    for sample in read_samples(args.file):
        if not re.fullmatch(args.comm, sample.comm) or not sample.frames:
            continue
        total += 1
        if sample.stop != "complete" or "changed" in sample.marks:
            marked += 1
            continue
        why = inconsistency(sample, symbols, sites)
        if why:
            bad.append(why)
    tap.ok(total - marked >= args.min_samples and not bad,
           f"{args.label}: inconsistent chains are marked",
           f"{marked} of {total} marked = {100 * marked / max(total, 1):.2f} %, "
           f"{len(bad)} unmarked and wrong {bad[:5]}")


def kernel_starts(samples):
    """Where functions of the guest's kernel begin, as far as @samples have been in them."""
    starts = {}
    for sample in samples:
        for (ip, name, _), offset in zip(sample.frames, sample.offsets):
            if ip >> 63 and offset is not None:
                starts[ip - offset] = name
    return sorted(starts.items())


def leaves(samples, starts, symbols):
    """How many samples were in which function, by address alone."""
    begins, found = [start for start, _ in starts], collections.Counter()
    for sample in samples:
        if not sample.frames:
            continue
        ip = sample.frames[0][0]
        if not ip >> 63:
            found[symbols.find(symbols.address(ip, sample.frames[0][2]))] += 1
            continue
        i = bisect.bisect_right(begins, ip) - 1
        # Functions that only perf has seen count as those before them: on both sides.
        found[starts[i][1] if i >= 0 else "?"] += 1
    return found


def check_leaves(tap, args):
    """Where the guest was is where `perf kvm --guest record` of the same guest, beside it, saw it."""
    ours = read_samples(args.file)
    theirs = [s for s in read_samples(args.peer, guest=True)
              if s.frames and s.frames[0][2] in ("[guest.kernel.kallsyms]", "[unknown]")]
    starts, symbols = kernel_starts(ours), Symbols(args.binary)
    compare_distributions(tap, args, leaves(ours, starts, symbols), leaves(theirs, starts, symbols))
    kernel = [sum(s.kernel() for s in samples) / max(len(samples), 1) for samples in (ours, theirs)]
    tap.ok(abs(kernel[0] - kernel[1]) <= args.within / 100,
           f"{args.label}: same share in the kernel",
           f"{100 * kernel[0]:.1f} % of {len(ours)} and {100 * kernel[1]:.1f} % of {len(theirs)}")


ACCOUNT = re.compile(r"(\d+) events = (\d+) samples(.*)")


def check_account(tap, args):
    """The recorder's sum: every event is a sample, lost or skipped, each by name."""
    text = open(args.file, errors="replace").read()
    match = ACCOUNT.search(text)
    if not match:
        tap.ok(False, f"{args.label}: no sample unaccounted", "no summary found")
        return
    events, samples = int(match[1]), int(match[2])
    parts = [int(n) for n in re.findall(r"\+ (\d+) ", match[3])]
    tap.ok(events == samples + sum(parts) and samples >= args.min_samples,
           f"{args.label}: no sample unaccounted", match[0])


def make_parser():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("check", choices=[name[len("check_"):]
                                           for name in globals() if name.startswith("check_")])
    parser.add_argument("file")
    parser.add_argument("--label", default="")
    parser.add_argument("--comm", default=".*")
    parser.add_argument("--comms", default="")
    parser.add_argument("--binary")
    parser.add_argument("--want")
    parser.add_argument("--entry", default="_start")
    parser.add_argument("--within", type=float, default=3)
    parser.add_argument("--min", type=float, default=97)
    parser.add_argument("--min-samples", type=int, default=100)
    parser.add_argument("--min-functions", type=int, default=10)
    parser.add_argument("--max-unknown", type=float, default=1)
    parser.add_argument("--sigmas", type=float, default=3)
    parser.add_argument("--floor", type=float, default=3)
    parser.add_argument("--entered", help="a kernel function")
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--end", help="names of entries")
    parser.add_argument("--dso", default="")
    parser.add_argument("--demangled", action="store_true", help="names that nm has not are right, too")
    parser.add_argument("--peer")
    parser.add_argument("--kallsyms", help="of the guest that --peer, a perf.data, was recorded in")
    parser.add_argument("--path", action="append")
    return parser


def read_checks(lines):
    """The words of each check."""
    words = []
    for line in lines:
        line = line.rstrip("\n")
        if line:
            words.append(line)
        elif words:
            yield words
            words = []


def main():
    parser, tap = make_parser(), Tap()
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    for words in read_checks(sys.stdin):
        args = parser.parse_args([re.sub(r"^%/", folder.rstrip("/") + "/", w) for w in words])
        globals()["check_" + args.check](tap, args)


if __name__ == "__main__":
    main()
