// Smallest factors by trial division, a thread for each number
//
// Most numbers have a small factor and are done soon; the one lane in nine with a prime goes on
// to its square root, and the warp with it.
//
// /// kernelprof
// kernel = "smallest_factors"
// block = [256]
// grid = ["NUMBERS // 256"]
// reference = "reference:factors"
//
// [sizes]
// NUMBERS = 270336
// FIRST = 100000001
//
// [check]
// sizes = { NUMBERS = 4096, FIRST = 1000001 }
//
// [[arguments]]
// name = "factors"
// type = "uint32"
// shape = ["NUMBERS"]
// output = true
//
// [[arguments]]
// name = "first"
// type = "uint32"
// value = "FIRST"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

// Of the odd numbers from ``first`` on; a prime's factor is the prime.
extern "C" __global__ void smallest_factors(unsigned* __restrict__ factors, unsigned first) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int index = thread;
    const unsigned number = first + 2 * index;
    unsigned factor = number;
    for (unsigned divisor = 3; divisor * divisor <= number; divisor += 2) {
        if (number % divisor == 0) {
            factor = divisor;
            break;
        }
    }
    factors[index] = factor;
}
