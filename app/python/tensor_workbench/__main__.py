"""python -m tensor_workbench capture SCRIPT: runs a script under a capture."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
import types
from typing import Any, List, Optional, Tuple

FAILED, USAGE, UNREADABLE, INTERRUPTED = 1, 2, 4, 130


def _steps(text: str) -> Tuple[int, Optional[int]]:
    first, colon, end = text.partition(":")
    try:
        steps = int(first or 0), int(end) if end else None
    except ValueError:
        steps = -1, None
    if not colon or steps[0] < 0 or (steps[1] is not None and steps[1] <= steps[0]):
        raise argparse.ArgumentTypeError(f'"{text}" is no range of steps such as 2:5, 10: or :3')
    return steps


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tensor_workbench")
    commands = parser.add_subparsers(dest="command", required=True, metavar="capture")
    capture = commands.add_parser("capture", help="run a script and record its ops, transfers, syncs and mismatches")
    capture.add_argument("--gpus", type=int, default=1, metavar="N", help="GPUs that the script sees (default: 1)")
    capture.add_argument("--fake", action="store_true", help="compute no values, and mark each assumption")
    capture.add_argument("--steps", type=_steps, default=(0, None), metavar="A:B", help="record steps A to B-1 only, from 0")
    capture.add_argument("-o", dest="out", metavar="OUT", help="capture file (default: the script's name with .twbcap)")
    capture.add_argument("--quiet", action="store_true", help="print no summary")
    capture.add_argument("script", metavar="SCRIPT")
    capture.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGS", help="arguments of the script")
    return parser


def _is_same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _interrupt_on_sigterm() -> None:
    """A job that is ended by its scheduler keeps its capture, as after Ctrl-C. Processes that the script forks end immediately."""
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    def restore() -> None:
        if signal.getsignal(signal.SIGTERM) is interrupt:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, interrupt)
        os.register_at_fork(after_in_child=restore)


def main(arguments: Optional[List[str]] = None) -> int:
    """Returns the exit code: 0 fine, 1 the script failed or ended with another code than 0, 2 wrong usage, 4 a file cannot
    be read or written or PyTorch is missing, 130 interrupted. In a process that the script forked, the script's own."""
    parsed = _parser().parse_args(arguments)
    if parsed.gpus < 1 or parsed.gpus > 64:
        print("tensor_workbench: --gpus takes a number from 1 to 64.", file=sys.stderr)
        return USAGE
    try:
        with open(parsed.script, "rb") as file:
            source = file.read()
        code = compile(source, os.path.abspath(parsed.script), "exec", dont_inherit=True)
    except OSError as error:
        print(f"tensor_workbench: cannot read {parsed.script}: {error.strerror}.", file=sys.stderr)
        return UNREADABLE
    except (SyntaxError, ValueError) as error:
        print(f"tensor_workbench: {parsed.script} is not a Python program: {error}.", file=sys.stderr)
        return UNREADABLE
    try:
        from .session import Capture
    except ImportError as error:
        print(f"tensor_workbench: PyTorch is not installed for {sys.executable}: {error}. "
              "Install it there, or capture with a Python that has it: twb capture --python PATH.", file=sys.stderr)
        return UNREADABLE
    out = parsed.out or os.path.splitext(os.path.basename(parsed.script))[0] + ".twbcap"
    if _is_same_file(out, parsed.script):
        print(f"tensor_workbench: the capture would replace the script {parsed.script}. Name another file with -o.", file=sys.stderr)
        return USAGE
    try:
        first, end = parsed.steps
        recording = Capture(out, parsed.gpus, parsed.fake, first, end, os.path.abspath(parsed.script), parsed.arguments)
    except ValueError as error:
        print(f"tensor_workbench: {error}", file=sys.stderr)
        return USAGE

    main_module = types.ModuleType("__main__")
    main_module.__dict__.update(__file__=os.path.abspath(parsed.script), __builtins__=__builtins__, __cached__=None)
    sys.modules["__main__"] = main_module
    sys.argv = [parsed.script, *parsed.arguments]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.abspath(parsed.script))
    _interrupt_on_sigterm()

    exit_code = 0
    process = os.getpid()
    try:
        with recording:
            try:
                exec(code, main_module.__dict__)
                recording.join_threads()
            except KeyboardInterrupt:
                print(f"tensor_workbench: {parsed.script} was interrupted.", file=sys.stderr)
                recording.end_as("interrupted", "Interrupted from the keyboard or by SIGTERM.")
                exit_code = INTERRUPTED
            except SystemExit as request:
                if os.getpid() != process:
                    raise  # a forked child of the script
                if request.code not in (None, 0):
                    if not isinstance(request.code, int):
                        print(request.code, file=sys.stderr)
                    number = request.code if isinstance(request.code, int) else 1
                    print(f"tensor_workbench: {parsed.script} ended with exit code {number}.", file=sys.stderr)
                    recording.end_as("failed", f"The script ended with exit code {number}.")
                    exit_code = FAILED
            except BaseException as error:
                trace = error.__traceback__
                traceback.print_exception(type(error), error, trace.tb_next if trace else None)
                recording.end_as("failed", f"{type(error).__name__}: {error}")
                exit_code = FAILED
    except OSError as error:
        print(f"tensor_workbench: cannot write {out}: {error.strerror}.", file=sys.stderr)
        return UNREADABLE
    if os.getpid() == process and not parsed.quiet:
        print(f"\n{recording.summary()}\nCapture saved to {out}", file=sys.stderr)
    return exit_code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # before the script began, or again while the capture was being closed
        sys.exit(INTERRUPTED)
