"""Writes and checks .npy files without NumPy.

  arrays.py write FILE TYPE SHAPE NUMBER...   TYPE as NumPy's ('<f4'); numbers are repeated as needed
  arrays.py show FILE                         type, shape and elements
"""
import ast
import math
import struct
import sys

FORMATS = {"f2": "e", "f4": "f", "f8": "d", "i1": "b", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "V2": "H", "V1": "B"}


def write(path, kind, shape, numbers):
    extents = tuple(int(x) for x in shape.split("x"))
    header = str({"descr": kind, "fortran_order": False, "shape": extents})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    order = ">" if kind[0] == ">" else "<"
    cast = float if kind[1] == "f" else int
    values = [cast(numbers[i % len(numbers)]) for i in range(math.prod(extents))]
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"{order}{len(values)}{FORMATS[kind[1:]]}", *values))


def show(path):
    data = open(path, "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length, = struct.unpack_from("<H", data, 8)
    assert (10 + length) % 64 == 0
    header = ast.literal_eval(data[10:10 + length].decode())
    assert not header["fortran_order"]
    values = struct.unpack_from(f"<{math.prod(header['shape'])}{FORMATS[header['descr'][1:]]}", data, 10 + length)
    print(header["descr"], header["shape"], *values)


if sys.argv[1] == "write":
    write(*sys.argv[2:5], sys.argv[5:])
else:
    show(sys.argv[2])
