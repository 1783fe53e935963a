"""What the parts of torch_bench.py share: kernels in libraries, times, distances, and rows of results."""
import ctypes
import functools
import json
import random

import torch


def entry(path, name):
    library = ctypes.CDLL(path)
    function, message = getattr(library, name), getattr(library, name + "_last_error")
    function.restype, message.restype = ctypes.c_int32, ctypes.c_char_p
    wanted = getattr(library, name + "_workspace_bytes", None)  # peers have no such function
    if wanted:
        wanted.restype = ctypes.c_size_t

    @functools.cache
    def workspace(*sizes):
        """As much as the kernel makes use of; None if it makes use of none."""
        size = wanted and wanted(*(ctypes.c_int64(s) for s in sizes), ctypes.c_int(torch.cuda.current_device()))
        return torch.empty(size, dtype=torch.uint8, device="cuda") if size else None

    def call(*arguments):
        converted = []
        for a in arguments:
            if isinstance(a, torch.Tensor):
                converted.append(ctypes.c_void_p(a.data_ptr()))
            else:
                converted.append(ctypes.c_float(a) if isinstance(a, float) else ctypes.c_int64(a))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        room = workspace(*(a for a in arguments if isinstance(a, int)))
        given = (None, 0) if room is None else (room.data_ptr(), room.numel())
        status = function(*converted, ctypes.c_void_p(given[0]), ctypes.c_size_t(given[1]), stream)
        if status:
            raise RuntimeError(f"{name}: status {status}: {message().decode()}")

    return call


class Clocks:
    """The multiprocessors' clock in MHz, where the driver's library is there."""

    def __init__(self):
        self.handle, self.seen = None, []
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
            bus = torch.cuda.get_device_properties(0)
            name = f"{bus.pci_domain_id:08x}:{bus.pci_bus_id:02x}:{bus.pci_device_id:02x}.0".encode()
        except (OSError, AttributeError):
            return
        handle = ctypes.c_void_p()
        if not self.library.nvmlInit_v2() and not self.library.nvmlDeviceGetHandleByPciBusId_v2(name, ctypes.byref(handle)):
            self.handle = handle

    def sample(self):
        megahertz = ctypes.c_uint()
        if self.handle and not self.library.nvmlDeviceGetClockInfo(self.handle, 1, ctypes.byref(megahertz)):
            self.seen.append(megahertz.value)

    def take(self):
        seen, self.seen = sorted(self.seen), []
        return {"sm_mhz": seen[len(seen) // 2]} if seen else {}


class Timer:
    """Median milliseconds; functions run in an order drawn anew in each round, each with a cold L2, so that heat and clock hit
    all alike."""

    def __init__(self, rounds):
        self.rounds = rounds
        self.flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
        self.clocks = Clocks()

    def once(self, function):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self.flush.zero_()
        start.record()
        function()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop)

    def __call__(self, *functions, rounds=None, warm=3):
        rounds = rounds or self.rounds
        times = [[] for _ in functions]
        order = list(range(len(functions)))
        self.clocks.take()
        for i in range(rounds + warm):
            random.shuffle(order)
            for j in order:
                milliseconds = self.once(functions[j])
                self.clocks.sample()
                if i >= warm:
                    times[j].append(milliseconds)
        return [sorted(t)[len(t) // 2] for t in times]

    def quick(self, functions):
        """{name: function} -> {name: median milliseconds} of few launches."""
        return dict(zip(functions, self(*functions.values(), rounds=4, warm=1)))


def fastest(calls, timer):
    """The fastest of {configuration: call} of those that the machine takes; a call alone is returned as it is."""
    if callable(calls):
        return calls
    able, refusals = {}, []
    for configuration, call in calls.items():
        try:
            call()
            able[configuration] = call
        except Exception as refused: # each library has exceptions of its own for too much shared memory
            refusals.append(str(refused))
    if not able:
        raise RuntimeError(f"none of {len(calls)} configurations: {refusals[0]}")
    times = timer.quick(able)
    return able[min(times, key=times.get)]


def distance(out, reference):
    out, reference = out.double(), reference.double()
    return ((out - reference).norm() / reference.norm()).item()


def row(**fields):
    print(json.dumps(fields), flush=True)
