// One time step of the wave equation, neighbouring threads along x
//
// The lanes of a warp read and write 32 neighbouring floats.
//
// /// kernelprof
// kernel = "wave_step"
// block = [32, 4, 2]
// grid = ["nx // 32", "ny // 4", "nz // 2"]
// reference = "reference:wave_step"
// flops = "10 * nx * ny * nz"
// min_bytes = "16 * nx * ny * nz"
//
// [sizes]
// nx = 224
// ny = 240
// nz = 192
//
// [check]
// sizes = { nx = 96, ny = 40, nz = 64 }
//
// [[arguments]]
// name = "now"
// type = "float32"
// shape = ["nz", "ny", "nx"]
//
// [[arguments]]
// name = "earlier"
// type = "float32"
// shape = ["nz", "ny", "nx"]
//
// [[arguments]]
// name = "speed"
// type = "float32"
// shape = ["nz", "ny", "nx"]
//
// [[arguments]]
// name = "next"
// type = "float32"
// shape = ["nz", "ny", "nx"]
// output = true
//
// [[arguments]]
// name = "nx"
// type = "int32"
// value = "nx"
//
// [[arguments]]
// name = "ny"
// type = "int32"
// value = "ny"
//
// [[arguments]]
// name = "nz"
// type = "int32"
// value = "nz"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

extern "C" __global__ void wave_step(const float* __restrict__ now,
                                     const float* __restrict__ earlier,
                                     const float* __restrict__ speed, float* __restrict__ next,
                                     int nx, int ny, int nz) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    const int plane = nx * ny;
    const int i = z * plane + y * nx + x;
    if (x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1) {
        next[i] = 0.0f;  // the walls stay at rest
        return;
    }
    const float sides = now[i - 1] + now[i + 1] + now[i - nx] + now[i + nx] + now[i - plane] +
                        now[i + plane];
    const float bend = sides - 6.0f * now[i];
    next[i] = 2.0f * now[i] - earlier[i] + speed[i] * bend;
}
