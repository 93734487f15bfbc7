"""What a capture found, kept in memory: mismatches, and transfers and syncs summed by source line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, NamedTuple


@dataclass
class Mismatch:
    """An op with operands on more than one device, and what followed from it."""

    id: int
    op: str               # as "aten::mul"
    message: str          # PyTorch's words
    file: str
    line: int             # from 1; 0 if unknown
    function: str
    module: str           # path of the nn.Module, or ""
    phase: str
    count: int = 1        # how often this line met it
    echoes: int = 0       # mismatches elsewhere that are consequences
    operands: List[str] = field(default_factory=list)  # as "other float32 [64] on cpu, created at net.py:8"


class TransferLine(NamedTuple):
    where: str            # as "train.py:12"
    source: str
    destination: str
    cause: str            # as "to"
    phase: str
    pinned: bool
    non_blocking: bool
    blocking: bool        # the CPU waits for it


class SyncLine(NamedTuple):
    where: str
    cause: str            # as "item()"
    phase: str


@dataclass
class Total:
    count: int = 0
    bytes: int = 0


@dataclass
class Results:
    ops: int = 0
    steps: int = 0
    mismatches: List[Mismatch] = field(default_factory=list)           # roots, in order
    transfers: Dict[TransferLine, Total] = field(default_factory=dict)
    syncs: Dict[SyncLine, int] = field(default_factory=dict)
    notes: Dict[str, str] = field(default_factory=dict)                 # code -> sentence

    def add_transfer(self, line: TransferLine, size: int) -> None:
        total = self.transfers.setdefault(line, Total())
        total.count += 1
        total.bytes += size

    def add_sync(self, line: SyncLine) -> None:
        self.syncs[line] = self.syncs.get(line, 0) + 1


def _size(size: float) -> str:
    if size < 1000:
        return f"{size:.0f} B"
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 1000:
            break
    return f"{size:.3g} {unit}"


def describe(mismatch: Mismatch) -> str:
    """Several lines of text: where, PyTorch's words, the operands."""
    place = f"{mismatch.file}:{mismatch.line} in {mismatch.function}" if mismatch.line else "unknown line"
    module = f" [{mismatch.module}]" if mismatch.module else ""
    times = f", {mismatch.count} times" if mismatch.count > 1 else ""
    echoes = f", {mismatch.echoes} more caused by this mismatch" if mismatch.echoes else ""
    lines = [f"{place}{module}{times}{echoes}", f"  {mismatch.message}"]
    lines += [f"    {operand}" for operand in mismatch.operands]
    return "\n".join(lines)


def summary(results: Results, longest: int = 40) -> str:
    """The findings as text; lists end after `longest` lines with the number left out."""
    def listed(lines: List[str]) -> List[str]:
        rest = len(lines) - longest
        return lines[:longest] + ([f"  and {rest} more"] if rest > 0 else [])

    count = len(results.mismatches)
    out = [f"{results.ops} ops in {results.steps} steps", f"{count} mismatch{'es' if count != 1 else ''}"]
    out += listed([describe(m) for m in results.mismatches])
    total = sum(t.bytes for t in results.transfers.values())
    out.append(f"{sum(t.count for t in results.transfers.values())} transfers, {_size(total)}")
    out += listed([
        f"  {key.where}  {key.source} -> {key.destination}  {key.cause} ({key.phase})  {value.count} x, {_size(value.bytes)}"
        f"{', pinned' if key.pinned else ''}{', non_blocking' if key.non_blocking else ''}{', blocks the CPU' if key.blocking else ''}"
        for key, value in results.transfers.items()])
    out.append(f"{sum(results.syncs.values())} syncs")
    out += listed([f"  {key.where}  {key.cause} ({key.phase})  {value} x" for key, value in results.syncs.items()])
    out += [f"note: {text}" for text in results.notes.values()]
    return "\n".join(out)
