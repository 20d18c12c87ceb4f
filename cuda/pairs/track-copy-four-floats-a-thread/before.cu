// Copy a track, four floats a thread
//
// Every byte is read once and written once, 16 bytes a thread and 512 in a row for a warp. Device
// memory is full of traffic that the task needs.
//
// /// kernelprof
// kernel = "copy_track"
// block = [256]
// grid = ["N // 1024"]
// reference = "copy"
// min_bytes = "8 * N"
//
// [sizes]
// N = 33554432
//
// [check]
// sizes = { N = 65536 }
//
// [[arguments]]
// name = "track"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "copied"
// type = "float32"
// shape = ["N"]
// output = true
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

extern "C" __global__ void copy_track(const float4* __restrict__ track,
                                      float4* __restrict__ copied) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    copied[i] = track[i];
}
