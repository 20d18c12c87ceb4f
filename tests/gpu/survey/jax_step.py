"""Training steps of a small network with JAX."""

import sys

import jax
import jax.numpy as jnp


def loss(weights: list[jax.Array], batch: jax.Array) -> jax.Array:
    for each in weights:
        batch = jax.nn.gelu(batch @ each)
    return jnp.mean(batch**2)


@jax.jit
def step(weights: list[jax.Array], batch: jax.Array) -> list[jax.Array]:
    slopes = jax.grad(loss)(weights, batch)
    return [each - 0.01 * slope for each, slope in zip(weights, slopes, strict=True)]


keys = jax.random.split(jax.random.PRNGKey(0), 5)
weights = [jax.random.normal(key, (2048, 2048)) * 0.02 for key in keys[:4]]
batch = jax.random.normal(keys[4], (4096, 2048))
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 200):
    weights = step(weights, batch)
print(float(loss(weights, batch)))
