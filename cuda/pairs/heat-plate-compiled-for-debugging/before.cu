// A step of heat conduction on a plate, compiled for debugging
//
// As an editor's build task left it: without optimization every address and every sum goes through
// instructions that wait for one another.
//
// /// kernelprof
// kernel = "step"
// block = [32, 8]
// grid = ["ceil_div(N, 32)", "ceil_div(N, 8)"]
// reference = "reference:step"
//
// [sizes]
// N = 8192
//
// [check]
// sizes = { N = 257 }
//
// [[arguments]]
// name = "plate"
// type = "float32"
// shape = ["N", "N"]
//
// [[arguments]]
// name = "next"
// type = "float32"
// shape = ["N", "N"]
// output = true
//
// [[arguments]]
// name = "side"
// type = "int32"
// value = "N"
//
// [compile]
// standard = "c++17"
// flags = ["-G"]
// ///

constexpr float SHARE = 0.125f;

extern "C" __global__ void step(const float* __restrict__ plate, float* __restrict__ next, int side) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= side || y >= side) return;
    const int at = y * side + x;
    if (x == 0 || y == 0 || x == side - 1 || y == side - 1) {
        next[at] = plate[at];
        return;
    }
    const float around = plate[at - 1] + plate[at + 1] + plate[at - side] + plate[at + side];
    next[at] = plate[at] + SHARE * (around - 4.0f * plate[at]);
}
