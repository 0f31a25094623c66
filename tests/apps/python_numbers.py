#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""numpy, pandas and matplotlib: a CSV in, results and a PNG out, both checked."""
import csv
import os
import struct
import sys
import tempfile
import zlib

try:
    import matplotlib
    import numpy
    import pandas
except ImportError as e:
    print(f"skip: {e}")
    sys.exit(0)
matplotlib.use("Agg")
import matplotlib.pyplot  # noqa: E402


def expect(name, got, wanted):
    if got != wanted:
        sys.exit(print(f"FAIL: {name}: {got!r}, not {wanted!r}") or 1)


def pixels(path):
    """The size of a PNG and how many different bytes its pixels have; checks its checksums."""
    data = open(path, "rb").read()
    expect("PNG signature", data[:8], b"\x89PNG\r\n\x1a\n")
    at, packed, size = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        expect("PNG checksum", struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0],
               zlib.crc32(kind + body))
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    return size, len(set(zlib.decompress(packed)))


def main():
    os.chdir(tempfile.mkdtemp())
    with open("in.csv", "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["day", "place", "value"])
        for n in range(3000):
            out.writerow([f"2024-01-{n % 28 + 1:02}", "abc"[n % 3], n])
    frame = pandas.read_csv("in.csv", parse_dates=["day"])
    sums = frame.groupby("place")["value"].sum()
    expect("pandas", (list(sums.index), list(sums)), (["a", "b", "c"], [1498500, 1499500, 1500500]))
    expect("pivot", frame.pivot_table(index="day", columns="place", values="value").shape, (28, 3))
    frame.to_json("out.json", orient="records")
    expect("json", len(pandas.read_json("out.json")), 3000)

    random = numpy.random.default_rng(1)
    matrix = random.standard_normal((300, 300))
    expect("solve", bool(numpy.allclose(numpy.linalg.solve(matrix, matrix @ numpy.ones(300)), 1)), True)
    expect("fft", bool(numpy.allclose(numpy.fft.ifft(numpy.fft.fft(matrix[0])).real, matrix[0])), True)
    numpy.save("m.npy", matrix)
    expect("npy mapped", bool((numpy.load("m.npy", mmap_mode="r") == matrix).all()), True)

    figure, axes = matplotlib.pyplot.subplots(figsize=(6.4, 4.8), dpi=100)
    sums.plot.bar(ax=axes, title="sums")
    axes.set_xlabel("place")
    figure.savefig("out.png")
    size, colours = pixels("out.png")
    expect("PNG", (size, colours > 20), ((640, 480), True))
    print("ok")


main()
