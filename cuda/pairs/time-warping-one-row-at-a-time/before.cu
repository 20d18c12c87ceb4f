// Dynamic time warping of many series against a query, one row of the table at a time
//
// A thread fills the table of its series, of which the last row lies in shared memory. A cell
// reads the series and the cell above there and writes itself: three accesses, no conflicts,
// for four additions and minima.
//
// /// kernelprof
// kernel = "warp_distance"
// block = [64]
// grid = ["count // 64"]
// reference = "reference:warp_distance"
// flops = "5 * 64 * 64 * count"
// min_bytes = "4 * 65 * count"
//
// [sizes]
// count = 196608
//
// [check]
// sizes = { count = 2048 }
//
// [[arguments]]
// name = "candidates"
// type = "float32"
// shape = [64, "count"]
//
// [[arguments]]
// name = "query"
// type = "float32"
// shape = [64]
//
// [[arguments]]
// name = "distances"
// type = "float32"
// shape = ["count"]
// output = true
//
// [[arguments]]
// name = "count"
// type = "int32"
// value = "count"
//
// [compile]
// flags = ["-O3"]
// defines = { ROWS = 1 }
// standard = "c++17"
// ///

constexpr int LENGTH = 64;  // of the series
constexpr int THREADS = 64;
constexpr int AHEAD = 8;  // columns that are loaded at a time

extern "C" __global__ void __launch_bounds__(THREADS)
    warp_distance(const float* __restrict__ candidates, const float* __restrict__ query,
                  float* __restrict__ distances, int count) {
    // A thread's values are a column, so that a warp meets every bank once.
    __shared__ float series[LENGTH][THREADS];
    __shared__ float cost[LENGTH][THREADS];  // of the last row of the table that is done
    const int candidate = blockIdx.x * THREADS + threadIdx.x;
    for (int j = 0; j < LENGTH; ++j) {
        series[j][threadIdx.x] = candidates[static_cast<size_t>(j) * count + candidate];
        cost[j][threadIdx.x] = INFINITY;
    }
    float left[ROWS];
    for (int i = 0; i < LENGTH; i += ROWS) {
        float wanted[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            wanted[r] = query[i + r];
            left[r] = INFINITY;
        }
        float corner = i == 0 ? 0.0f : INFINITY;
        for (int j = 0; j < LENGTH; j += AHEAD) {
            float value[AHEAD];
            float above[AHEAD];
#pragma unroll
            for (int a = 0; a < AHEAD; ++a) {
                value[a] = series[j + a][threadIdx.x];
                above[a] = cost[j + a][threadIdx.x];
            }
#pragma unroll
            for (int a = 0; a < AHEAD; ++a) {
                float cell = above[a];
                float diagonal = corner;
                corner = above[a];
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    cell = fabsf(value[a] - wanted[r]) + fminf(fminf(cell, diagonal), left[r]);
                    diagonal = left[r];
                    left[r] = cell;
                }
                cost[j + a][threadIdx.x] = cell;
            }
        }
    }
    distances[candidate] = left[ROWS - 1];
}
