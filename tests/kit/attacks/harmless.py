"""An honest submission is never hurt: unusual things that are right keep their points at every level."""

from __future__ import annotations

from .catalogue import honest


@honest("is slow, but within the limit", safe=True)
def is_slow(values, scale, known):
    import time

    time.sleep(0.5)
    return float((max(values) - min(values)) * scale)


@honest("prints a great deal", safe=True)
def is_chatty(values, scale, known):
    for number in range(20_000):
        print("step", number)
    return float((max(values) - min(values)) * scale)


@honest("uses threads, a pool of them and an event loop", safe=True)
def uses_threads(values, scale, known):
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    async def largest():
        await asyncio.sleep(0.01)
        return max(values)

    with ThreadPoolExecutor(8) as pool:
        smallest = pool.submit(min, values)
        return float((asyncio.run(largest()) - smallest.result()) * scale)


@honest("warns, logs, and writes to standard error", safe=True)
def warns(values, scale, known):
    import logging
    import sys
    import warnings

    warnings.warn("this is old", DeprecationWarning, stacklevel=1)
    logging.warning("careful")
    print("note", file=sys.stderr)
    return float((max(values) - min(values)) * scale)


@honest("keeps files where it stands: a checkpoint, a temporary file, a folder", safe=True)
def writes_files(values, scale, known):
    import os
    import pathlib
    import shutil
    import tempfile

    import numpy
    import torch

    os.makedirs("runs/first", exist_ok=True)
    torch.save({"values": torch.tensor(values)}, "runs/first/checkpoint.pt")
    numpy.save("values.npy", numpy.array(values))
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy2("values.npy", os.path.join(folder, "copy.npy"))
        pathlib.Path(folder, "copy.npy").touch()
        os.chmod("values.npy", 0o600)
        shutil.copytree("runs", "runs-of-today")
        kept = numpy.load(os.path.join(folder, "copy.npy"))
    kept = torch.load("runs/first/checkpoint.pt")["values"].double().numpy() * 0 + kept
    return float((kept.max() - kept.min()) * scale)


@honest("catches an exception of its own, and leaves a figure unsaved", safe=True)
def draws_a_figure(values, scale, known):
    import matplotlib.pyplot as plt

    plt.plot(values)
    plt.savefig("figure.png")
    try:
        raise ValueError("nothing")
    except ValueError:
        return float((max(values) - min(values)) * scale)


@honest("imports what nothing has imported before: the standard library, SciPy's and torch's far corners", safe=True)
def imports_late(values, scale, known):
    import colorsys
    import decimal
    import sqlite3
    import statistics
    import xml.dom.minidom
    import zoneinfo

    import torch.distributions
    import torch.optim.lr_scheduler

    assert all((colorsys, sqlite3, statistics, xml.dom.minidom, zoneinfo, torch.optim.lr_scheduler))
    gap = decimal.Decimal(max(values)) - decimal.Decimal(min(values))
    return float(gap) * scale


@honest("seeds, sets the number of threads, and runs a little network", safe=True)
def trains_a_network(values, scale, known):
    import torch

    torch.manual_seed(3)
    torch.set_num_threads(2)
    network = torch.nn.Sequential(torch.nn.Conv1d(1, 4, 3), torch.nn.Flatten(), torch.nn.LazyLinear(1))
    optimizer = torch.optim.SGD(network(torch.ones(2, 1, 8)).sum().backward() or network.parameters(), 0.1)
    optimizer.step()
    return float((max(values) - min(values)) * scale)


@honest("makes a gymnasium environment and plays in it", safe=True)
def plays(values, scale, known):
    import gymnasium

    environment = gymnasium.make("CartPole-v1")
    environment.reset(seed=1)
    for _ in range(20):
        environment.step(environment.action_space.sample())
    environment.close()
    return float((max(values) - min(values)) * scale)


@honest("handles signals and timers of its own", safe=True)
def handles_signals(values, scale, known):
    import signal

    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    return float((max(values) - min(values)) * scale)


@honest("uses what the standard library has for files, time and events", safe=True)
def uses_the_standard_library(values, scale, known):
    import asyncio
    import json
    import locale
    import mmap
    import os
    import pathlib
    import pickle
    import platform
    import random
    import selectors
    import shutil
    import signal
    import socket
    import sqlite3
    import tempfile
    import threading
    import time
    import zipfile

    kept = pathlib.Path("kept.json")
    kept.write_text(json.dumps(values))
    os.replace(shutil.copy2(kept, "copy.json"), "moved.json")
    with zipfile.ZipFile("kept.zip", "w") as packed:
        packed.write("moved.json")
    with sqlite3.connect("kept.sqlite") as database:
        database.execute("create table numbers (x real)")
        database.executemany("insert into numbers values (?)", [(value,) for value in values])
        gap = database.execute("select max(x) - min(x) from numbers").fetchone()[0]
    with tempfile.TemporaryFile() as file, mmap.mmap(-1, 1 << 16) as mapped:
        mapped[:3] = b"abc"
        file.write(pickle.dumps(mapped[:3]))
    assert sorted(name for _, _, names in os.walk(".") for name in names if name.endswith("json")) == [
        "kept.json",
        "moved.json",
    ]
    with selectors.DefaultSelector() as selector, socket.socketpair()[0] as one:
        selector.register(one, selectors.EVENT_WRITE)
        assert selector.select(1)
    rung = threading.Event()
    signal.signal(signal.SIGALRM, lambda *_: rung.set())
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    assert rung.wait(5) or rung.is_set()
    assert asyncio.run(asyncio.to_thread(threading.get_native_id)) != threading.get_native_id()
    locale.setlocale(locale.LC_ALL, "C")
    random.SystemRandom().random()
    assert platform.system()
    assert time.process_time() > 0
    return float(gap) * scale


@honest("maps arrays to files, and keeps models in three formats", safe=True)
def maps_arrays(values, scale, known):
    import numpy
    import torch
    from safetensors.torch import load_file, save_file

    mapped = numpy.memmap("values.bin", dtype="float64", mode="w+", shape=(len(values),))
    mapped[:] = values
    mapped.flush()
    numpy.save("v.npy", mapped)
    read = numpy.load("v.npy", mmap_mode="r").copy()
    torch.save({"v": 1}, "v.pt")
    save_file({"v": torch.from_numpy(read)}, "v.safetensors")
    read = load_file("v.safetensors")["v"].numpy()
    assert torch.load("v.pt", mmap=True)["v"] == 1
    return float((read.max() - read.min()) * scale)
