// ECG frames to leads, padded tile
//
// Rows of 13 floats spread the reads over all banks. Device memory is as busy as before.
//
// /// kernelprof
// kernel = "separate"
// block = [256]
// grid = ["FRAMES // 256"]
// reference = "reference:separate"
// min_bytes = "96 * FRAMES"
//
// [sizes]
// FRAMES = 3244032
// PITCH = 13
//
// [check]
// sizes = { FRAMES = 4096 }
//
// [[arguments]]
// name = "frames"
// type = "float32"
// shape = ["FRAMES", 12]
//
// [[arguments]]
// name = "leads"
// type = "float32"
// shape = [12, "FRAMES"]
// output = true
//
// [[arguments]]
// name = "count"
// type = "int32"
// value = "FRAMES"
//
// [[arguments]]
// name = "pitch"
// type = "int32"
// value = "PITCH"
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
//
// [launch]
// shared_bytes = "4 * 256 * PITCH"
// ///

constexpr int LEADS = 12;
constexpr int FRAMES = 256;  // of a block, one for each thread

// Frames of twelve leads become twelve tracks, by way of a tile with a frame in each row.
extern "C" __global__ void separate(const float* __restrict__ frames, float* __restrict__ leads,
                                    int count, int pitch) {
    extern __shared__ float tile[];
    const float* from = frames + static_cast<size_t>(blockIdx.x) * (FRAMES * LEADS);
#pragma unroll
    for (int k = 0; k < LEADS; ++k) {
        const int i = k * FRAMES + threadIdx.x;
        tile[(i / LEADS) * pitch + i % LEADS] = from[i];
    }
    __syncthreads();
    const int frame = blockIdx.x * FRAMES + threadIdx.x;
#pragma unroll
    for (int lead = 0; lead < LEADS; ++lead) {
        leads[static_cast<size_t>(lead) * count + frame] = tile[threadIdx.x * pitch + lead];
    }
}
