// /// kernelprof
// kernel = "walk"
// block = [256]
// grid = [1056]
// reference = "none"
// arguments = [
//   { name = "next", type = "uint32", shape = ["N"], fill = "permutation" },
//   { name = "out", type = "uint32", shape = ["M"], output = true },
// ]
// [sizes]
// N = 1048576
// M = 270336
// ///
extern "C" __global__ void walk(const unsigned* next, unsigned* out) {
    unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    for (int s = 0; s < 32; ++s) at = next[at];
    out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}
