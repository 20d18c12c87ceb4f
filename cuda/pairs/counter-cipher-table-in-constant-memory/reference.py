"""AES-128 in counter mode by its definition (FIPS 197), the inputs and the reference."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def _product(a: int, b: int) -> int:
    """The product of two elements of the field of 256."""
    found = 0
    while b:
        found ^= a if b & 1 else 0
        a = a << 1 ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return found


def _substitutes() -> Array:
    """The inverse of each byte, then an affine map of its bits."""
    found = []
    for byte in range(256):
        inverse = next((other for other in range(256) if _product(byte, other) == 1), 0)
        spread = 0x63
        for by in range(5):
            spread ^= (inverse << by | inverse >> (8 - by)) & 0xFF
        found.append(spread)
    return np.array(found, dtype=np.uint8)


BOXES = _substitutes()
DOUBLED = np.array([_product(byte, 2) for byte in range(256)], dtype=np.uint8)


def round_keys(shape: tuple[int, ...]) -> Array:
    """The eleven keys from the key of the bytes 0 to 15."""
    words = [list(range(k, k + 4)) for k in range(0, 16, 4)]
    constant = 1
    for k in range(4, 44):
        last = words[-1]
        if k % 4 == 0:
            last = [int(BOXES[byte]) for byte in last[1:] + last[:1]]
            last[0] ^= constant
            constant = _product(constant, 2)
        words.append([a ^ b for a, b in zip(words[k - 4], last, strict=True)])
    keys: Array = np.array(words, dtype=np.uint8).view(">u4").astype(np.uint32).reshape(shape)
    return keys


def messages(shape: tuple[int, ...]) -> Array:
    """Random words."""
    return np.random.default_rng(1).integers(0, 1 << 32, shape, dtype=np.uint32)


def cipher(text: Array, round_keys: Array) -> Array:
    """Blocks of 16 bytes under eleven round keys."""
    keys = round_keys.astype(">u4").view(np.uint8).reshape(11, 16)
    state: Array = text ^ keys[0]
    # Byte r of column c comes from column c + r.
    shifted = [(4 * (k // 4 + k % 4) + k % 4) % 16 for k in range(16)]
    for k in range(1, 11):
        state = BOXES[state][:, shifted]
        if k < 10:
            columns = state.reshape(-1, 4, 4)
            turned = [np.roll(columns, -r, axis=2) for r in range(4)]
            twice = DOUBLED[turned[0]] ^ DOUBLED[turned[1]]
            state = (twice ^ turned[1] ^ turned[2] ^ turned[3]).reshape(-1, 16)
        state = state ^ keys[k]
    return state


def encrypt(round_keys: Array, plain: Array) -> Array:
    """Messages with the ciphers of 0, 1, 2 and so on."""
    counters = np.zeros((len(plain), 4), dtype=">u4")
    counters[:, 3] = np.arange(len(plain))
    stream = cipher(counters.view(np.uint8), round_keys).reshape(-1).view(">u4")
    coded: Array = plain.astype(np.uint64) ^ stream.astype(np.uint64).reshape(plain.shape)
    return coded
