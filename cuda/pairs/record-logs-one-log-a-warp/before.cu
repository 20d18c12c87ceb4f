// Sums over logs of records of various lengths, one log a warp
//
// A header says how long its record is and so where the next one begins. A warp loads a header,
// then the record, then the next header: it always waits for one of them, and too few bytes are
// under way though every warp slot is taken.
//
// /// kernelprof
// kernel = "sum_logs"
// block = [256]
// grid = ["count // 8"]
// reference = "reference:sum_logs"
// min_bytes = "4 * 256 * count + 4 * count"
//
// [sizes]
// count = 131072
//
// [check]
// sizes = { count = 2048 }
//
// [[arguments]]
// name = "logs"
// type = "int32"
// shape = ["count", 256]
// fill = "reference:logs"
//
// [[arguments]]
// name = "sums"
// type = "int32"
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
// standard = "c++17"
// ///

constexpr int WORDS = 256;  // of a log
constexpr int LOGS = 1;     // that a warp reads at a time

extern "C" __global__ void __launch_bounds__(256)
    sum_logs(const int* __restrict__ logs, int* __restrict__ sums, int count) {
    const int lane = threadIdx.x % 32;
    const int first = (blockIdx.x * 8 + threadIdx.x / 32) * LOGS;
    if (first >= count) return;
    const int* from = logs + static_cast<size_t>(first) * WORDS;
    int at[LOGS] = {};  // where the next record of each log begins
    int sum[LOGS] = {};
    bool more = true;
    while (more) {
        int header[LOGS];
        int value[LOGS];
#pragma unroll
        for (int log = 0; log < LOGS; ++log) {
            header[log] = at[log] < WORDS ? from[log * WORDS + at[log]] : 0;
        }
#pragma unroll
        for (int log = 0; log < LOGS; ++log) {
            const bool mine = lane < (header[log] & 0xff);
            value[log] = mine ? from[log * WORDS + at[log] + 1 + lane] : 0;
        }
        more = false;
#pragma unroll
        for (int log = 0; log < LOGS; ++log) {
            sum[log] += (header[log] >> 8) * value[log];
            at[log] += header[log] == 0 ? 0 : 1 + (header[log] & 0xff);
            more |= at[log] < WORDS;
        }
    }
#pragma unroll
    for (int log = 0; log < LOGS; ++log) {
#pragma unroll
        for (int half = 16; half > 0; half /= 2) sum[log] += __shfl_xor_sync(~0u, sum[log], half);
        if (lane == 0) sums[first + log] = sum[log];
    }
}
