"""What the kernel of structures.cu has to compute."""


def affine(v_x, **known):
    return known["in"] * v_x + 3 + 3 + 0.5
