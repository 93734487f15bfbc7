"""PyTorch's rules on devices: which operands of an op may stand where, and which ops make the CPU wait.

The rule is that of ATen's device guards and of FakeTensor: all operands are on one device, and a 0-dimensional CPU
tensor counts as a number. Ops with a rule of their own are listed here.
"""

from __future__ import annotations

from typing import Dict, FrozenSet, List, NamedTuple, Sequence, Tuple

CPU = "cpu"


class Operand(NamedTuple):
    """A tensor argument of an op."""

    argument: str      # the schema's name of the argument
    position: int      # index in a list argument, else 0
    device: str
    dimensions: int
    is_mask: bool = False


class Verdict(NamedTuple):
    device: str             # where the op runs, and what its results claim
    wrong: Tuple[int, ...]  # indexes of the operands that are on another device


# A copy takes its operands from anywhere and writes to its first one.
COPIES: FrozenSet[str] = frozenset({
    "aten::copy_", "aten::copy", "aten::_to_copy", "aten::to", "aten::_copy_from", "aten::_copy_from_and_resize",
    "aten::set_", "aten::_foreach_copy_", "aten::_foreach_copy",
})

# Indexing: the indices are on the CPU (and are copied) or on the device of the indexed tensor; a value of
# dimension 0 may be on the CPU.
INDEXING: FrozenSet[str] = frozenset({
    "aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_", "aten::_unsafe_index",
    "aten::_unsafe_index_put", "aten::_unsafe_masked_index",
})

# Arguments that are on the CPU whatever the others are on.
CPU_ARGUMENTS: Dict[str, FrozenSet[str]] = {
    "aten::_pack_padded_sequence": frozenset({"lengths"}),
    "aten::_pad_packed_sequence": frozenset({"batch_sizes"}),
    "aten::_pack_padded_sequence_backward": frozenset({"batch_sizes"}),
    "aten::lstm": frozenset({"batch_sizes"}),
    "aten::gru": frozenset({"batch_sizes"}),
    "aten::rnn_tanh": frozenset({"batch_sizes"}),
    "aten::rnn_relu": frozenset({"batch_sizes"}),
    "aten::tensor_split": frozenset({"tensor_indices_or_sections"}),
}

# Arguments that may be on any device: the op reads them on the CPU.
READ_ON_CPU: Dict[str, FrozenSet[str]] = {
    "aten::_ctc_loss": frozenset({"input_lengths", "target_lengths"}),
    "aten::_ctc_loss_backward": frozenset({"input_lengths", "target_lengths"}),
}

# Elementwise ops whose kernel takes no 0-dimensional CPU tensor beside CUDA tensors.
WITHOUT_NUMBERS: FrozenSet[str] = frozenset({"aten::nextafter", "aten::nextafter_"})

# Results that are on the CPU wherever the op runs, by their place.
CPU_RESULTS: Dict[str, FrozenSet[int]] = {
    "aten::_pack_padded_sequence": frozenset({1}),
}

# The op makes the CPU wait for the device, because a size or a number depends on values.
SYNCS: Dict[str, str] = {
    "aten::_local_scalar_dense": "item()",
    "aten::nonzero": "nonzero()",
    "aten::masked_select": "masked_select()",
    "aten::equal": "equal()",
    "aten::is_nonzero": "bool(tensor)",
    "aten::allclose": "allclose()",
    "aten::_unique": "unique()",
    "aten::_unique2": "unique()",
    "aten::unique_dim": "unique()",
    "aten::unique_consecutive": "unique_consecutive()",
    "aten::unique_dim_consecutive": "unique_consecutive()",
    "aten::bincount": "bincount()",
    "aten::_linalg_check_errors": "linalg error check",
    "aten::multinomial": "multinomial()",
}


def _is_number(operand: Operand) -> bool:
    return operand.dimensions == 0 and operand.device == CPU


def judge(op: str, operands: Sequence[Operand]) -> Verdict:
    """The device an op runs on and the operands that are not there.

    `op` is the qualified name, as "aten::add". The device is that of the first operand on a GPU, else the CPU.
    """
    if not operands:
        return Verdict(CPU, ())
    first = operands[0].device
    if op in COPIES:
        return Verdict(first, ())
    if op in INDEXING:
        return _judge_indexing(first, operands)
    read_on_cpu = READ_ON_CPU.get(op)
    if read_on_cpu is not None:
        placed = [i for i, operand in enumerate(operands) if operand.argument not in read_on_cpu]
        verdict = judge("", [operands[i] for i in placed])
        return Verdict(verdict.device, tuple(placed[i] for i in verdict.wrong))
    if op.startswith("aten::_foreach_") or op.startswith("aten::_fused_") or op.startswith("aten::_amp_foreach"):
        return _judge_lists(op, operands)
    on_cpu = CPU_ARGUMENTS.get(op)
    if on_cpu is None:
        for operand in operands:
            if operand.device != first:
                break
        else:
            return Verdict(first, ())
        on_cpu = frozenset()
    device = CPU
    for operand in operands:
        if operand.device != CPU and operand.argument not in on_cpu:
            device = operand.device
            break
    takes_numbers = op not in WITHOUT_NUMBERS
    wrong = tuple(
        i for i, operand in enumerate(operands)
        if (operand.device != CPU if operand.argument in on_cpu
            else operand.device != device and not (takes_numbers and _is_number(operand))))
    return Verdict(device, wrong)


def _judge_indexing(device: str, operands: Sequence[Operand]) -> Verdict:
    wrong: List[int] = []
    for i, operand in enumerate(operands[1:], 1):
        if operand.device == device:
            continue
        if operand.argument == "values" and _is_number(operand):
            continue
        if operand.argument in ("indices", "mask") and operand.device == CPU:
            continue
        wrong.append(i)
    return Verdict(device, tuple(wrong))


def _judge_lists(op: str, operands: Sequence[Operand]) -> Verdict:
    """Ops on lists work index by index: the tensors of one index are on one device. Single tensors go with all."""
    by_position: Dict[int, str] = {}
    counts: Dict[str, int] = {}
    for operand in operands:
        counts[operand.argument] = counts.get(operand.argument, 0) + 1
    longest = max(counts.values())
    # A fused optimizer keeps its steps on the device too; other lists of 0-dimensional CPU tensors are numbers.
    numbers_count = op.startswith("aten::_fused_")
    for operand in operands:
        if counts[operand.argument] == longest and operand.device != CPU:
            by_position.setdefault(operand.position, operand.device)
    wrong: List[int] = []
    for i, operand in enumerate(operands):
        if counts[operand.argument] == longest:
            expected = by_position.get(operand.position, CPU)
        else:
            expected = by_position.get(0, CPU)
        if operand.device != expected and (numbers_count or not _is_number(operand)):
            wrong.append(i)
    return Verdict(by_position.get(0, CPU), tuple(wrong))
