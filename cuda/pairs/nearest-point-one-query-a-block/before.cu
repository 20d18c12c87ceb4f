// Distance from each query to the nearest point of each shard, one query a block
//
// A block streams a shard of the points, 1 MB, for a single query: a subtraction and an FMA for
// each 4 bytes. All shards, 16 MB, lie in L2, which delivers them 2048 times over. The points
// are stored by dimension, so all loads are in order.
//
// /// kernelprof
// kernel = "nearest_distance"
// block = [512]
// grid = ["shards", "searches // QUERIES"]
// reference = "reference:nearest_distance"
// flops = "3 * searches * shards * shard * DIMENSIONS"
// min_bytes = "4 * (DIMENSIONS * (shards * shard + searches) + searches * shards)"
//
// [sizes]
// searches = 2048
// shards = 16
// shard = 4096
//
// [check]
// sizes = { searches = 64, shards = 3, shard = 1536 }
//
// [[arguments]]
// name = "points"
// type = "float32"
// shape = ["shards", "DIMENSIONS", "shard"]
//
// [[arguments]]
// name = "queries"
// type = "float32"
// shape = ["searches", "DIMENSIONS"]
//
// [[arguments]]
// name = "distances"
// type = "float32"
// shape = ["searches", "shards"]
// output = true
//
// [[arguments]]
// name = "shard"
// type = "int32"
// value = "shard"
//
// [compile]
// flags = ["-O3"]
// defines = { DIMENSIONS = 64, QUERIES = 1 }
// standard = "c++17"
// ///

constexpr int THREADS = 512;

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    nearest_distance(const float* __restrict__ points, const float* __restrict__ queries,
                     float* __restrict__ distances, int shard) {
    __shared__ float wanted[DIMENSIONS][QUERIES];
    __shared__ float nearest[THREADS / 32][QUERIES];
    const int first = blockIdx.y * QUERIES;
    for (int i = threadIdx.x; i < DIMENSIONS * QUERIES; i += THREADS) {
        wanted[i / QUERIES][i % QUERIES] =
            queries[(first + i % QUERIES) * DIMENSIONS + i / QUERIES];
    }
    __syncthreads();

    float best[QUERIES];
#pragma unroll
    for (int q = 0; q < QUERIES; ++q) best[q] = INFINITY;
    const float2* pairs = reinterpret_cast<const float2*>(
        points + static_cast<size_t>(blockIdx.x) * DIMENSIONS * shard);
    for (int pair = threadIdx.x; pair < shard / 2; pair += THREADS) {
        float left[QUERIES] = {};
        float right[QUERIES] = {};
#pragma unroll 8
        for (int d = 0; d < DIMENSIONS; ++d) {
            // Far more than L1 holds goes by before a point is needed again: leave L1 out.
            const float2 at = __ldcg(&pairs[d * (shard / 2) + pair]);
#pragma unroll
            for (int q = 0; q < QUERIES; ++q) {
                const float off_left = at.x - wanted[d][q];
                const float off_right = at.y - wanted[d][q];
                left[q] += off_left * off_left;
                right[q] += off_right * off_right;
            }
        }
#pragma unroll
        for (int q = 0; q < QUERIES; ++q) best[q] = fminf(best[q], fminf(left[q], right[q]));
    }

#pragma unroll
    for (int q = 0; q < QUERIES; ++q) {
        for (int apart = 16; apart > 0; apart /= 2) {
            best[q] = fminf(best[q], __shfl_xor_sync(0xffffffffu, best[q], apart));
        }
        if (threadIdx.x % 32 == 0) nearest[threadIdx.x / 32][q] = best[q];
    }
    __syncthreads();
    if (threadIdx.x < QUERIES) {
        float least = nearest[0][threadIdx.x];
        for (int warp = 1; warp < THREADS / 32; ++warp) {
            least = fminf(least, nearest[warp][threadIdx.x]);
        }
        distances[(first + threadIdx.x) * gridDim.x + blockIdx.x] = sqrtf(least);
    }
}
