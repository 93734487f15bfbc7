#!/usr/bin/env python3
"""Writes numpy_stored.npz and numpy_deflated.npz, the same tensors by np.savez and np.savez_compressed, for
tests/formats/test_npz.cpp. What lies there was written by NumPy 1.24.2.

Run it again after adding a tensor: python3 tests/data/make_npz.py
"""
import pathlib

import numpy as np

rows = np.arange(6, dtype=np.float32).reshape(2, 3)
tensors = {
    "rows": rows,
    "columns": np.asfortranarray(rows.astype(np.float64)),
    "big": np.arange(5).astype(">i4"),
    "flags": np.array([True, False, True]),
    "scalar": np.float16(1.5),
    "none": np.zeros((0, 4), np.int64),
    "zeros": np.zeros((64, 64), np.uint8),
    "layer/weight": np.arange(-2, 2, dtype=np.int8),
    "größe": np.array([7], np.uint64),
    "objects": np.array([None, "text"], dtype=object),
}
here = pathlib.Path(__file__).parent
np.savez(here / "numpy_stored.npz", **tensors)
np.savez_compressed(here / "numpy_deflated.npz", **tensors)
