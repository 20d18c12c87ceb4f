// Edit distances of pairs of short strings, a warp fills a table along its diagonals
//
// The table needs 33 columns. Steps down and to the left are then 32 words, and the cells of a
// diagonal, one to a lane, are all in the same bank.
//
// /// kernelprof
// kernel = "edit_distances"
// block = [32, 4]
// grid = ["count // 4"]
// reference = "reference:edit_distances"
// min_bytes = "68 * count"
//
// [sizes]
// count = 32768
//
// [check]
// sizes = { count = 2000 }
//
// [[arguments]]
// name = "left"
// type = "uint8"
// shape = ["count", 32]
//
// [[arguments]]
// name = "right"
// type = "uint8"
// shape = ["count", 32]
//
// [[arguments]]
// name = "distances"
// type = "int32"
// shape = ["count"]
// output = true
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int LENGTH = 32;
constexpr int WARPS = 4;
constexpr int WIDTH = LENGTH + 1;

extern "C" __global__ void edit_distances(const unsigned char* __restrict__ left,
                                          const unsigned char* __restrict__ right,
                                          int* __restrict__ distances) {
    __shared__ int tables[WARPS][LENGTH + 1][WIDTH];
    int(*table)[WIDTH] = tables[threadIdx.y];
    const int lane = threadIdx.x;
    const int pair = blockIdx.x * WARPS + threadIdx.y;
    const int down = left[pair * LENGTH + lane];
    const int along = right[pair * LENGTH + lane];
    table[0][lane] = lane;
    table[lane + 1][0] = lane + 1;
    if (lane == 0) {
        table[0][LENGTH] = LENGTH;
    }
    __syncwarp();
    for (int diagonal = 0; diagonal < 2 * LENGTH - 1; ++diagonal) {
        const int column = diagonal - lane;
        const int symbol = __shfl_sync(0xffffffffu, along, column & (LENGTH - 1));
        if (column >= 0 && column < LENGTH) {
            const int replaced = table[lane][column] + (down != symbol);
            const int skipped = min(table[lane][column + 1], table[lane + 1][column]) + 1;
            table[lane + 1][column + 1] = min(replaced, skipped);
        }
        __syncwarp();
    }
    if (lane == 0) {
        distances[pair] = table[LENGTH][LENGTH];
    }
}
