// Sums of embedding rows, each found by two lookups in turn
//
// For each token a warp loads the number of its row, waits, loads the row, waits, and goes on to
// the next token if there is one: two waits a token, with one row under way at most.
//
// /// kernelprof
// kernel = "sum_bags"
// block = [256]
// grid = ["bags // 8"]
// reference = "reference:sum_bags"
//
// [sizes]
// bags = 131072
// vocabulary = 4194304
// table_rows = 1048576
//
// [check]
// sizes = { bags = 512, vocabulary = 4096, table_rows = 1024 }
//
// [[arguments]]
// name = "tokens"
// type = "int32"
// shape = ["bags", 32]
// fill = "reference:tokens"
//
// [[arguments]]
// name = "rows"
// type = "int32"
// shape = ["vocabulary"]
// fill = "reference:rows"
//
// [[arguments]]
// name = "table"
// type = "float32"
// shape = ["table_rows", 32]
//
// [[arguments]]
// name = "sums"
// type = "float32"
// shape = ["bags", 32]
// output = true
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int LONGEST = 32;  // of a bag; shorter ones end with -1
constexpr int WIDTH = 32;    // of a row

extern "C" __global__ void __launch_bounds__(256)
    sum_bags(const int* __restrict__ tokens, const int* __restrict__ rows,
             const float* __restrict__ table, float* __restrict__ sums) {
    const int lane = threadIdx.x % 32;
    const int bag = blockIdx.x * 8 + threadIdx.x / 32;
    const int* mine = tokens + bag * LONGEST;
    float sum = 0.0f;
    for (int k = 0; k < LONGEST; ++k) {
        const int token = mine[k];
        if (token < 0) break;
        sum += table[static_cast<size_t>(rows[token]) * WIDTH + lane];
    }
    sums[bag * WIDTH + lane] = sum;
}
