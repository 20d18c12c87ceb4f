// Squared distance to the nearest of 1024 centroids, by norms and dot products
//
// |x - c|^2 = |x|^2 + 2 (|c|^2 / 2 - x c): half the norm of a centroid is worked out once a block,
// that of a point once, and a dimension costs one multiply-add.
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
    __shared__ float half_norm[kTile];
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
        float norm = 0.0f;
#pragma unroll
        for (int d = 0; d < DIMENSIONS / 4; ++d) {
            const float4 four = reinterpret_cast<const float4*>(
                c + static_cast<size_t>(start + threadIdx.x) * DIMENSIONS)[d];
            tile[threadIdx.x][d] = four;
            norm += four.x * four.x + four.y * four.y + four.z * four.z + four.w * four.w;
        }
        half_norm[threadIdx.x] = 0.5f * norm;
        __syncthreads();
#pragma unroll 2
        for (int k = 0; k < kTile; ++k) {
            float sum[EACH];
#pragma unroll
            for (int e = 0; e < EACH; ++e) sum[e] = half_norm[k];
#pragma unroll
            for (int d = 0; d < DIMENSIONS; d += 4) {
                const float4 four = tile[k][d / 4];
#pragma unroll
                for (int e = 0; e < EACH; ++e) {
                    sum[e] = fmaf(-point[e][d], four.x, sum[e]);
                    sum[e] = fmaf(-point[e][d + 1], four.y, sum[e]);
                    sum[e] = fmaf(-point[e][d + 2], four.z, sum[e]);
                    sum[e] = fmaf(-point[e][d + 3], four.w, sum[e]);
                }
            }
#pragma unroll
            for (int e = 0; e < EACH; ++e) best[e] = fminf(best[e], sum[e]);
        }
    }
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        float norm = 0.0f;
#pragma unroll
        for (int d = 0; d < DIMENSIONS; ++d) norm = fmaf(point[e][d], point[e][d], norm);
        distance[first + e * kTile] = fmaf(2.0f, best[e], norm);
    }
}
