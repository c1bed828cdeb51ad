"""Randomness: fresh for every call, thread and process; the system's noise has the law asked for."""

from __future__ import annotations

import ast
import importlib.util
import os
import runpy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpsql.privacy
from dpsql.privacy import random_bytes
from dpsql.privacy.noise import SystemNoise
from dpsql.privacy.random_bytes import HAS_AES, AesCtr, SystemRandom, best_source
from tests.chisquare import chi_square, laplace_chi_square

pytestmark = pytest.mark.usefixtures("system_noise")
SOURCES = [SystemRandom(), *([AesCtr()] if HAS_AES else [])]
by_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: type(source).__name__)


@by_source
@pytest.mark.parametrize("size", [0, 1, 17, 4095, 4096, 100_003])
def test_length(source, size):
    assert len(source.read(size)) == size


@by_source
def test_bytes_are_uniform(source):
    counts = np.bincount(np.frombuffer(source.read(1 << 20), dtype=np.uint8), minlength=256)
    statistic, critical = chi_square(counts, np.full(256, 2.0**12))
    assert statistic < critical * 1.2  # not seeded: p < 1e-10


@by_source
def test_threads_never_share_a_block(source):
    def blocks(_: int) -> list[bytes]:
        pieces = [source.read(16_000) for _ in range(10)]
        return [piece[i : i + 16] for piece in pieces for i in range(0, 16_000, 16)]

    with ThreadPoolExecutor(32) as pool:
        everything = [block for part in pool.map(blocks, range(32)) for block in part]
    assert len(everything) == len(set(everything)) == 320_000


@by_source
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_processes_differ(source):
    noise = SystemNoise(source)
    scale = Fraction(2**50)
    noise.laplace(scale, 2000)  # whatever state there might be now exists before the fork

    def child(write: int) -> None:
        os.write(write, noise.laplace(scale, 64).tobytes() + noise.laplace(scale, 2000)[:64].tobytes())

    results = []
    for _ in range(4):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            child(write)
            os._exit(0)
        os.waitpid(pid, 0)
        results.append(np.frombuffer(os.read(read, 4096), dtype=np.int64))
        os.close(read)
        os.close(write)
    results.append(noise.laplace(scale, 64))
    together = np.concatenate(results)
    assert together.size == 4 * 128 + 64
    assert np.unique(together).size == together.size


@pytest.mark.skipif(not HAS_AES, reason="needs the fast extra")
def test_every_keystream_has_its_own_key_from_the_system(monkeypatch):
    keys = []

    def urandom(size):
        keys.append(size)
        return bytes(size)

    monkeypatch.setattr(random_bytes.os, "urandom", urandom)
    source = AesCtr()
    assert source.read(5000) == source.read(5000)  # only because the "system" repeats itself here
    assert keys == [32, 32]
    # AES-256 of the zero block under the zero key (NIST SP 800-38A's cipher; FIPS 197 test value)
    assert source.read(5000)[:16].hex() == "dc95c078a2408989ad48a21492842087"


def test_best_source(monkeypatch):
    monkeypatch.setattr(random_bytes, "HAS_AES", False)
    assert isinstance(best_source(), SystemRandom)
    if HAS_AES:
        monkeypatch.setattr(random_bytes, "HAS_AES", True)
        assert isinstance(best_source(), AesCtr)


def test_has_aes_only_where_cryptography_is(monkeypatch):
    assert HAS_AES is (importlib.util.find_spec("cryptography") is not None)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    assert runpy.run_path(random_bytes.__file__)["HAS_AES"] is False


def test_works_without_cryptography():
    program = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from fractions import Fraction; from dpsql.privacy.noise import SystemNoise\n"
        "noise = SystemNoise(); print(type(noise.source).__name__, noise.laplace(Fraction(5), 3).shape)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "SystemRandom (3,)"


def test_no_other_randomness_and_no_switch_in_the_layer():
    """The only name that gives randomness is os.urandom, in one file; nothing reads the environment."""
    for path in Path(dpsql.privacy.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            assert name not in {"environ", "getenv", "random", "seed", "secrets", "default_rng"}, path
            assert name != "urandom" or path.name == "random_bytes.py", path


@by_source
@pytest.mark.parametrize("size", [20, 50_000])
def test_system_noise_has_the_law(source, size):
    noise = SystemNoise(source)
    draws = np.concatenate([noise.laplace(Fraction(4), size) for _ in range(50_000 // size)])
    statistic, critical = laplace_chi_square(draws, 4.0)
    assert statistic < critical * 1.3  # not seeded: p < 1e-10


def test_system_noise_refuses_a_bad_scale():
    with pytest.raises(ValueError, match="scale"):
        SystemNoise().laplace(Fraction(0), 1)


def test_system_noise_never_repeats():
    noise = SystemNoise()
    scale = Fraction(2**56)
    assert noise.laplace(scale, 1)[0] != noise.laplace(scale, 1)[0]
    assert noise.cube(scale / 32, 2, 1) != noise.cube(scale / 32, 2, 1)
