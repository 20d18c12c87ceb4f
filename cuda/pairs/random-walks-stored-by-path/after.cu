// Random walks with a pull to zero, stored time by time
//
// The positions of neighbouring paths at one time are neighbours in memory.
//
// /// kernelprof
// kernel = "walk"
// block = [256]
// grid = ["ceil_div(count, 256)"]
// reference = "reference:by_record"
// min_bytes = "4 * count * records"
//
// [sizes]
// count = 262144
// records = 128
//
// [check]
// sizes = { count = 5000, records = 24 }
//
// [[arguments]]
// name = "paths"
// type = "float32"
// shape = ["records", "count"]
// output = true
//
// [[arguments]]
// name = "count"
// type = "int32"
// value = "count"
//
// [[arguments]]
// name = "records"
// type = "int32"
// value = "records"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int STEPS = 8;  // between two records

extern "C" __global__ void walk(float* __restrict__ paths, int count, int records) {
    const int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= count) {
        return;
    }
    unsigned int state = (path + 1u) * 2654435769u;
    float x = 0.0f;
    for (int record = 0; record < records; ++record) {
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            const float kick = static_cast<float>(state >> 8) * (1.0f / 16777216.0f) - 0.5f;
            x = fmaf(0.98f, x, kick);
        }
        paths[static_cast<size_t>(record) * count + path] = x;
    }
}
