// Strengthened hash of keys, a loop over all of them by 32 blocks
//
// The grid was chosen once and kept: the loop takes any number of keys, so the result is right
// with 100 SMs empty.
//
// /// kernelprof
// kernel = "hash_keys"
// block = [512]
// grid = [32]
// reference = "reference:hashes"
// min_bytes = "8 * N"
//
// [sizes]
// N = 1048576
//
// [check]
// sizes = { N = 50000 }
//
// [[arguments]]
// name = "keys"
// type = "uint32"
// shape = ["N"]
// fill = "arange"
//
// [[arguments]]
// name = "hashes"
// type = "uint32"
// shape = ["N"]
// output = true
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "N"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr unsigned rounds = 64;

extern "C" __global__ void hash_keys(const unsigned* __restrict__ keys,
                                     unsigned* __restrict__ hashes, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned state = keys[i];
#pragma unroll 8
        for (unsigned round = 0; round < rounds; ++round) {
            state = (state ^ state >> 15) * 0x2c1b3c6du + round;
            state = (state ^ state >> 12) * 0x297a2d39u;
            state ^= state >> 15;
        }
        hashes[i] = state;
    }
}
