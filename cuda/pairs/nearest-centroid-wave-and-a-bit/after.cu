// Distance to the nearest of 1024 centroids, 1,120 short blocks
//
// The same work in blocks an eighth as long: eight and a half waves instead of one and a bit, so
// that what the last one leaves empty is short.
//
// /// kernelprof
// kernel = "nearest_centroid"
// block = [512]
// grid = ["ceil_div(N, CHUNK)"]
// reference = "reference:distances"
// flops = "3 * N * CENTROIDS * DIMENSIONS"
// min_bytes = "4 * N * DIMENSIONS + 4 * N"
//
// [sizes]
// N = 573440
//
// [check]
// sizes = { N = 5000 }
//
// [[arguments]]
// name = "points"
// type = "float32"
// shape = ["DIMENSIONS", "N"]
//
// [[arguments]]
// name = "centroids"
// type = "float32"
// shape = ["CENTROIDS", "DIMENSIONS"]
//
// [[arguments]]
// name = "distance"
// type = "float32"
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
// defines = { CHUNK = 512, CENTROIDS = 1024, DIMENSIONS = 32 }
// standard = "c++17"
//
// [launch]
// shared_bytes = "4 * CENTROIDS * DIMENSIONS"
// ///

// A block takes CHUNK points, a thread one of them at a time.
extern "C" __global__ void __launch_bounds__(512)
    nearest_centroid(const float* __restrict__ points, const float* __restrict__ centroids,
                     float* __restrict__ distance, int n) {
    extern __shared__ float4 table[];
    constexpr int fours = DIMENSIONS / 4;
    const float4* source = reinterpret_cast<const float4*>(centroids);
    for (int i = threadIdx.x; i < CENTROIDS * fours; i += blockDim.x) {
        table[i] = source[i];
    }
    __syncthreads();
    const int end = min((static_cast<int>(blockIdx.x) + 1) * CHUNK, n);
    for (int i = blockIdx.x * CHUNK + threadIdx.x; i < end; i += blockDim.x) {
        float point[DIMENSIONS];
#pragma unroll
        for (int d = 0; d < DIMENSIONS; ++d) {
            point[d] = points[static_cast<size_t>(d) * n + i];
        }
        float nearest = INFINITY;
#pragma unroll 2
        for (int c = 0; c < CENTROIDS; ++c) {
            float4 sums = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
            for (int f = 0; f < fours; ++f) {
                const float4 four = table[c * fours + f];
                const float dx = point[4 * f] - four.x;
                const float dy = point[4 * f + 1] - four.y;
                const float dz = point[4 * f + 2] - four.z;
                const float dw = point[4 * f + 3] - four.w;
                sums.x += dx * dx;
                sums.y += dy * dy;
                sums.z += dz * dz;
                sums.w += dw * dw;
            }
            nearest = fminf(nearest, (sums.x + sums.y) + (sums.z + sums.w));
        }
        distance[i] = sqrtf(nearest);
    }
}
