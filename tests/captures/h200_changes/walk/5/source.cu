// A walk of dependent loads, one warp a block, of which every PERIOD-th goes far away: to L2 where
// FAR is large, and to L1 where it is as small as the rest. The instructions, requests and sectors
// are the same, and a few of them take longer: a slowdown that no exact counter sees.
//
// /// kernelprof
// kernel = "walk"
// block = [32]
// grid = ["n // 32"]
// reference = "references:walk"
//
// [sizes]
// n = 4224
// rounds = 65536
// length = 4194304
//
// [check]
// sizes = { n = 64, rounds = 512, length = 4194304 }
//
// [compile.defines]
// PERIOD = 256
// FAR = 2048
//
// [[arguments]]
// name = "zeros"
// type = "int32"
// shape = ["length"]
// fill = "zeros"
//
// [[arguments]]
// name = "y"
// type = "int32"
// shape = ["n"]
// output = true
//
// [[arguments]]
// name = "rounds"
// type = "int32"
// value = "rounds"
// ///
__global__ void walk(const int* zeros, int* y, int rounds) {
    unsigned place = blockIdx.x;
    for (int round = 0; round < rounds; ++round) {
        const unsigned mask = round % PERIOD == 0 ? FAR - 1 : 1024 - 1;
        place = place * 1664525u + 1013904223u;
        place += zeros[(place >> 8) & mask];
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<int>(place >> 1);
}
