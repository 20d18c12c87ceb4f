// Light of 256 lamps on an image, an exponential for each row and column and lamp
//
// Each thread holds 8 x 8 pixels. A lamp's light falls off as exp(-dx^2) exp(-dy^2): eight factors
// for the columns, eight for the rows, and a multiply-add for each pixel.
//
// /// kernelprof
// kernel = "light"
// block = [32, 8]
// grid = ["width // 256", "height // 64"]
// reference = "reference:light"
//
// [sizes]
// width = 2048
// height = 2048
// lamps = 256
//
// [check]
// sizes = { width = 256, height = 256 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "lamp"
// type = "float32"
// shape = ["lamps", "4"]
// fill = "reference:lamp"
//
// [[arguments]]
// name = "out"
// type = "float32"
// shape = ["height", "width"]
// output = true
//
// [[arguments]]
// name = "width"
// type = "int32"
// value = "width"
//
// [[arguments]]
// name = "lamps"
// type = "int32"
// value = "lamps"
//
// [compile]
// flags = ["-O3", "--use_fast_math"]
// standard = "c++17"
// ///

constexpr int kSide = 8;  // pixels a thread in each direction, 32 columns or 8 rows apart

extern "C" __global__ void light(const float* __restrict__ lamp, float* __restrict__ out,
                                 int width, int lamps) {
    const int column = blockIdx.x * 32 * kSide + threadIdx.x;
    const int row = blockIdx.y * 8 * kSide + threadIdx.y;
    float sum[kSide][kSide] = {};
    for (int k = 0; k < lamps; ++k) {
        const float4 one = reinterpret_cast<const float4*>(lamp)[k];  // x, y, power, 1 / reach
        float along_x[kSide];
        float along_y[kSide];
#pragma unroll
        for (int i = 0; i < kSide; ++i) {
            const float dx = (column + 32 * i - one.x) * one.w;
            const float dy = (row + 8 * i - one.y) * one.w;
            along_x[i] = __expf(-dx * dx);
            along_y[i] = one.z * __expf(-dy * dy);
        }
#pragma unroll
        for (int j = 0; j < kSide; ++j) {
#pragma unroll
            for (int i = 0; i < kSide; ++i) {
                sum[j][i] += along_y[j] * along_x[i];
            }
        }
    }
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
#pragma unroll
        for (int i = 0; i < kSide; ++i) {
            out[static_cast<size_t>(row + 8 * j) * width + column + 32 * i] = sum[j][i];
        }
    }
}
