#!/usr/bin/env python3
"""Drives tensor-workbench as a screen reader does, through AT-SPI: opens an example, fixes its mismatch, runs it and
reads the time of the transfer.

    accessibility.py TENSOR_WORKBENCH

Ends with 77 if a needed program or package is missing. Starts its own display and its own message bus.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec

SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def wait_for(what, look, seconds=300):
    """The first value of look() that is not None or False."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            found = look()
        except Exception:  # the program changes its widgets meanwhile
            found = None
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{what}: not found within {seconds} s")


def everything(root):
    """The accessibles below `root`, but not the items of lists and tables inside it: each costs a message."""
    closed = {"list", "table", "combo box", "spin button", "text"}
    waiting = [root]
    while waiting:
        item = waiting.pop()
        yield item
        if item is root or item.getRoleName() not in closed:
            waiting += reversed([child for child in item if child is not None])


def find(root, role, name):
    """The first accessible of a role whose name contains `name`."""
    for item in everything(root):
        if item.getRoleName() == role and name in item.name:
            return item
    return None


def press(item):
    actions = item.queryAction()
    names = [actions.getName(i).lower() for i in range(actions.nActions)]
    for wanted in ("press", "showmenu", "click"):
        if wanted in names:
            actions.doAction(names.index(wanted))
            return
    raise AssertionError(f"{item.name!r} has only the actions {names}")


def job(program):
    """Inside the private bus and display."""
    import pyatspi

    process = subprocess.Popen([program])
    try:
        desktop = pyatspi.Registry.getDesktop(0)
        app = wait_for("the program", lambda: next((a for a in desktop if a and "workbench" in a.name.lower()), None))
        window = wait_for("the window", lambda: find(app, "frame", "Tensor Workbench"))

        # Open an example by the menu.
        press(wait_for("the File menu", lambda: find(window, "menu item", "File")))
        press(wait_for("the examples", lambda: find(app, "menu item", "Examples")))
        press(wait_for("the example", lambda: find(app, "menu item", "mat1 is on the CPU")))

        canvas = wait_for("the canvas", lambda: find(window, "canvas", "Graph canvas"))
        node = wait_for("the faulty node", lambda: find(canvas, "list item", "fc, Gemm on cuda:0, error"))
        assert "Expected all tensors to be on the same device" in node.description, node.description
        press(node)
        wait_for("the selection", lambda: node.getState().contains(pyatspi.STATE_SELECTED))
        assert wait_for("its wire", lambda: find(canvas, "link", "Wire from matrix to fc"))

        # Fix it, and run.
        press(wait_for("the fix", lambda: find(window, "push button", "Insert To(cuda:0)")))
        wait_for("the fixed node", lambda: find(canvas, "list item", "fc, Gemm on cuda:0") and
                 not find(canvas, "list item", "error"))
        press(wait_for("the run button", lambda: find(window, "push button", "Run")))

        # Read the transfer's time, beside the wire and in the ledger.
        wire = wait_for("the transfer", lambda: next(
            (i for i in everything(canvas) if i.getRoleName() == "link" and "transfer from cpu to cuda:0" in i.description
             and " ms, modelled" in i.description), None))
        table = wait_for("the ledger", lambda: find(window, "table", "Ledger"))
        cells = [cell.name for cell in everything(table)]
        assert any("cuda:0" in cell for cell in cells), cells
        print(f"{wire.name}: {wire.description}")
        print("ledger:", ", ".join(cell for cell in cells if cell)[:200])
    finally:
        process.kill()
        process.wait()


def main():
    program = os.path.abspath(sys.argv[1])
    if len(sys.argv) > 2:  # on the private bus
        return job(program)
    if not find_spec("pyatspi"):
        skip("the package python3-pyatspi is missing")
    for needed in ("Xvfb", "dbus-run-session"):
        if not shutil.which(needed):
            skip(f"{needed} is missing")
    launcher = next((p for p in ("/usr/libexec/at-spi-bus-launcher", "/usr/lib/at-spi2-core/at-spi-bus-launcher")
                     if os.path.exists(p)), None)
    if not launcher:
        skip("the package at-spi2-core is missing")

    with tempfile.TemporaryDirectory() as home:
        read, write = os.pipe()
        # With -noreset the display stays up when its first client, the launcher, is gone.
        display = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1440x900x24", "-nolisten", "tcp",
                                    "-noreset"], pass_fds=[write])
        os.close(write)
        try:
            with os.fdopen(read) as numbers:
                number = numbers.readline().strip()
            assert number, "Xvfb ended before it had a display"
            environment = {**os.environ, "DISPLAY": f":{number}", "HOME": home, "XDG_RUNTIME_DIR": home,
                           "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home, "QT_QPA_PLATFORM": "xcb", "LC_ALL": "C.UTF-8",
                           "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1", "TWB_CUDA_PLUGIN": "none"}
            session = f"'{launcher}' --launch-immediately & exec '{sys.executable}' -B '{__file__}' '{program}' inside"
            sys.exit(subprocess.run(["dbus-run-session", "--", "sh", "-c", session], env=environment,
                                    timeout=1500).returncode)
        finally:
            display.kill()
            display.wait()


if __name__ == "__main__":
    sys.exit(main())
