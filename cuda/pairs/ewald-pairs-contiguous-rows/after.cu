// Real-space Ewald energy, rows of pairs dealt in turn
//
// Block 0 takes particles 0, 132, 264 and so on: every block has long rows and short ones, and all
// end together.
//
// /// kernelprof
// kernel = "ewald_energy"
// block = [1024]
// grid = [132]
// reference = "reference:ewald_energy"
// min_bytes = "16 * N"
//
// [sizes]
// N = 8448
//
// [check]
// sizes = { N = 1056 }
//
// [[arguments]]
// name = "particles"
// type = "float32"
// shape = ["N", 4]
// fill = "reference:particles"
//
// [[arguments]]
// name = "energy"
// type = "float64"
// shape = [1]
// fill = "zeros"
// output = true
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "N"
//
// [[arguments]]
// name = "splitting"
// type = "float32"
// value = 1.5
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

// x, y, z and charge of each particle.
extern "C" __global__ void __launch_bounds__(1024)
    ewald_energy(const float4* __restrict__ particles, double* energy, int n, float splitting) {
    const int rows = (n + gridDim.x - 1) / gridDim.x;
    float sum = 0.0f;
    for (int k = 0; k < rows; ++k) {
        const int row = blockIdx.x + k * gridDim.x;
        if (row >= n) {
            break;
        }
        const float4 own = particles[row];
        for (int j = row + 1 + threadIdx.x; j < n; j += blockDim.x) {
            const float4 other = particles[j];
            const float dx = other.x - own.x;
            const float dy = other.y - own.y;
            const float dz = other.z - own.z;
            const float square = dx * dx + dy * dy + dz * dz;
            const float inverse = rsqrtf(square);
            sum += own.w * other.w * inverse * erfcf(splitting * square * inverse);
        }
    }
    double total = sum;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        total += __shfl_down_sync(~0u, total, step);
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(energy, total);
    }
}
