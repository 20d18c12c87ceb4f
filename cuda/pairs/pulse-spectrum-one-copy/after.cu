// Spectrum of detector pulses, 32 copies of it a block
//
// Each lane adds to a copy of its own, which lies in a bank of its own; the copies are added up
// at the end.
//
// /// kernelprof
// kernel = "pulse_spectrum"
// block = [256]
// grid = [792]
// reference = "reference:spectrum"
// min_bytes = "2 * N"
//
// [sizes]
// N = 33554432
//
// [check]
// sizes = { N = 1048576 }
//
// [[arguments]]
// name = "pulses"
// type = "uint16"
// shape = ["N"]
// fill = "reference:pulses"
//
// [[arguments]]
// name = "spectrum"
// type = "uint32"
// shape = [256]
// fill = "zeros"
// output = true
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "N"
//
// [compile]
// flags = ["-O3"]
// defines = { COPIES = 32 }
// standard = "c++17"
// ///

constexpr int channels = 256;

// Two pulses, each with its channel in the low byte and its charge in the high one.
__device__ void deposit(unsigned* local, unsigned two) {
    atomicAdd(&local[(two & 0xff) * COPIES], two >> 8 & 0xff);
    atomicAdd(&local[(two >> 16 & 0xff) * COPIES], two >> 24);
}

extern "C" __global__ void pulse_spectrum(const unsigned short* __restrict__ pulses,
                                          unsigned* spectrum, int n) {
    __shared__ unsigned local[channels * COPIES];
    for (int i = threadIdx.x; i < channels * COPIES; i += blockDim.x) {
        local[i] = 0;
    }
    __syncthreads();
    unsigned* own = local + threadIdx.x % COPIES;
    const uint4* packed = reinterpret_cast<const uint4*>(pulses);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 8; i += gridDim.x * blockDim.x) {
        const uint4 eight = packed[i];
        deposit(own, eight.x);
        deposit(own, eight.y);
        deposit(own, eight.z);
        deposit(own, eight.w);
    }
    __syncthreads();
    unsigned sum = 0;
    for (int k = 0; k < COPIES; ++k) {
        sum += local[threadIdx.x * COPIES + (threadIdx.x + k) % COPIES];
    }
    atomicAdd(&spectrum[threadIdx.x], sum);
}
