// Pixels to color planes, warps on their own
//
// No warp waits for another. Device memory is as busy as before.
//
// /// kernelprof
// kernel = "split"
// block = [256]
// grid = ["PIXELS // 1024"]
// reference = "reference:split"
// min_bytes = "24 * PIXELS"
//
// [sizes]
// PIXELS = 12976128
//
// [check]
// sizes = { PIXELS = 16384 }
//
// [[arguments]]
// name = "pixels"
// type = "float32"
// shape = ["PIXELS", 3]
//
// [[arguments]]
// name = "planes"
// type = "float32"
// shape = [3, "PIXELS"]
// output = true
//
// [[arguments]]
// name = "count"
// type = "int32"
// value = "PIXELS"
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

// Pixels of three floats become three planes. A warp has 128 pixels in its own part of the tile.
extern "C" __global__ void __launch_bounds__(256) split(const float4* __restrict__ pixels,
                                                        float* __restrict__ planes, int count) {
    __shared__ float4 tile[8][96];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int first = blockIdx.x * 8 + warp;
    const float4* from = pixels + static_cast<size_t>(first) * 96 + lane;
#pragma unroll
    for (int k = 0; k < 3; ++k) tile[warp][lane + 32 * k] = from[32 * k];
    __syncwarp();
    const float* mine = reinterpret_cast<const float*>(tile[warp]) + 3 * lane;
    float* to = planes + static_cast<size_t>(first) * 128 + lane;
#pragma unroll
    for (int plane = 0; plane < 3; ++plane) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            to[static_cast<size_t>(plane) * count + 32 * k] = mine[96 * k + plane];
        }
    }
}
