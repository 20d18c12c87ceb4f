// Smallest factors by trial division, a warp for each number
//
// The lanes try 32 divisors of the same number at once and stop together, so that no lane waits
// for the number of another.
//
// /// kernelprof
// kernel = "smallest_factors"
// block = [256]
// grid = ["NUMBERS // 8"]
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
    const int index = thread / 32;
    const int lane = thread % 32;
    const unsigned number = first + 2 * index;
    unsigned factor = number;
    for (unsigned divisor = 3; divisor * divisor <= number; divisor += 64) {
        const unsigned divides = __ballot_sync(~0u, number % (divisor + 2 * lane) == 0);
        if (divides != 0) {
            factor = divisor + 2 * (__ffs(divides) - 1);
            break;
        }
    }
    if (lane == 0) {
        factors[index] = factor;
    }
}
