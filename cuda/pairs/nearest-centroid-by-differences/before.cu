// Squared distance to the nearest of 1024 centroids, difference by difference
//
// Each thread holds four points of 16 dimensions and takes every centroid from shared memory. A
// dimension costs a subtraction and a multiply-add, both on the FP32 pipe.
//
// /// kernelprof
// kernel = "nearest"
// block = [128]
// grid = ["points // (128 * EACH)"]
// reference = "reference:nearest"
//
// [sizes]
// points = 262144
// centroids = 1024
//
// [check]
// sizes = { points = 4096, centroids = 256 }
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["points", "DIMENSIONS"]
//
// [[arguments]]
// name = "c"
// type = "float32"
// shape = ["centroids", "DIMENSIONS"]
//
// [[arguments]]
// name = "distance"
// type = "float32"
// shape = ["points"]
// output = true
//
// [[arguments]]
// name = "centroids"
// type = "int32"
// value = "centroids"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// defines = { DIMENSIONS = 16, EACH = 4 }
// ///

constexpr int kTile = 128;  // centroids at a time: one for each thread to fetch

extern "C" __global__ void __launch_bounds__(kTile)
    nearest(const float* __restrict__ x, const float* __restrict__ c, float* __restrict__ distance,
            int centroids) {
    __shared__ float4 tile[kTile][DIMENSIONS / 4];
    const int first = blockIdx.x * kTile * EACH + threadIdx.x;
    float point[EACH][DIMENSIONS];
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
#pragma unroll
        for (int d = 0; d < DIMENSIONS; d += 4) {
            const float4 four = *reinterpret_cast<const float4*>(
                x + static_cast<size_t>(first + e * kTile) * DIMENSIONS + d);
            point[e][d] = four.x;
            point[e][d + 1] = four.y;
            point[e][d + 2] = four.z;
            point[e][d + 3] = four.w;
        }
    }

    float best[EACH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) best[e] = INFINITY;
    for (int start = 0; start < centroids; start += kTile) {
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DIMENSIONS / 4; ++d) {
            const float4 four = reinterpret_cast<const float4*>(
                c + static_cast<size_t>(start + threadIdx.x) * DIMENSIONS)[d];
            tile[threadIdx.x][d] = four;
        }
        __syncthreads();
#pragma unroll 2
        for (int k = 0; k < kTile; ++k) {
            float sum[EACH];
#pragma unroll
            for (int e = 0; e < EACH; ++e) sum[e] = 0.0f;
#pragma unroll
            for (int d = 0; d < DIMENSIONS; d += 4) {
                const float4 four = tile[k][d / 4];
#pragma unroll
                for (int e = 0; e < EACH; ++e) {
                    const float dx = point[e][d] - four.x;
                    const float dy = point[e][d + 1] - four.y;
                    const float dz = point[e][d + 2] - four.z;
                    const float dw = point[e][d + 3] - four.w;
                    sum[e] = fmaf(dx, dx, sum[e]);
                    sum[e] = fmaf(dy, dy, sum[e]);
                    sum[e] = fmaf(dz, dz, sum[e]);
                    sum[e] = fmaf(dw, dw, sum[e]);
                }
            }
#pragma unroll
            for (int e = 0; e < EACH; ++e) best[e] = fminf(best[e], sum[e]);
        }
    }
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        distance[first + e * kTile] = best[e];
    }
}
