// Product of a tall matrix's transpose with itself, eleven blocks for each tile
//
// Each of the blocks walks down an eleventh of the rows; the one that ends last adds up the parts.
// The 396 blocks are three for every SM.
//
// /// kernelprof
// kernel = "covariance"
// block = [256]
// grid = ["FEATURES // 64", "FEATURES // 64", "PARTS"]
// reference = "reference:covariance"
// flops = "2 * ROWS * FEATURES * FEATURES"
// min_bytes = "4 * ROWS * FEATURES + 4 * FEATURES * FEATURES"
//
// [sizes]
// ROWS = 11264
// FEATURES = 384
//
// [check]
// sizes = { ROWS = 704, FEATURES = 128 }
//
// [[arguments]]
// name = "data"
// type = "float32"
// shape = ["ROWS", "FEATURES"]
//
// [[arguments]]
// name = "parts"
// type = "float32"
// shape = ["PARTS", "FEATURES", "FEATURES"]
// output = true
//
// [[arguments]]
// name = "product"
// type = "float32"
// shape = ["FEATURES", "FEATURES"]
// output = true
//
// [[arguments]]
// name = "finished"
// type = "uint32"
// shape = ["FEATURES // 64", "FEATURES // 64"]
// fill = "zeros"
// output = true
//
// [[arguments]]
// name = "rows"
// type = "int32"
// value = "ROWS"
//
// [[arguments]]
// name = "features"
// type = "int32"
// value = "FEATURES"
//
// [compile]
// flags = ["-O3"]
// defines = { PARTS = 11 }
// standard = "c++17"
// ///

constexpr int side = 64;
constexpr int depth = 16;

// A block computes 64 x 64 products over its part of the rows, a thread 4 x 4 of them.
extern "C" __global__ void __launch_bounds__(256)
    covariance(const float* __restrict__ data, float* parts, float* __restrict__ product,
               unsigned* finished, int rows, int features) {
    __shared__ float4 left[depth][side / 4];
    __shared__ float4 right[depth][side / 4];
    __shared__ bool last;
    const int tx = threadIdx.x % 16;
    const int ty = threadIdx.x / 16;
    const int first_row = blockIdx.z * (rows / PARTS);
    const float4* data4 = reinterpret_cast<const float4*>(data);
    float sums[4][4] = {};
    for (int row = first_row; row < first_row + rows / PARTS; row += depth) {
        const size_t line = static_cast<size_t>(row + ty) * (features / 4);
        left[ty][tx] = data4[line + blockIdx.y * (side / 4) + tx];
        right[ty][tx] = data4[line + blockIdx.x * (side / 4) + tx];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < depth; ++k) {
            const float4 a = left[k][ty];
            const float4 b = right[k][tx];
            const float as[4] = {a.x, a.y, a.z, a.w};
            const float bs[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    sums[i][j] += as[i] * bs[j];
                }
            }
        }
        __syncthreads();
    }
    const size_t whole = static_cast<size_t>(features) * features;
    const size_t corner = static_cast<size_t>(blockIdx.y * side + 4 * ty) * features +
                          blockIdx.x * side + 4 * tx;
    float* own = parts + blockIdx.z * whole + corner;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        *reinterpret_cast<float4*>(own + i * features) =
            make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned* count = &finished[blockIdx.y * gridDim.x + blockIdx.x];
        last = atomicAdd(count, 1u) == PARTS - 1;
        if (last) {
            *count = 0;
        }
    }
    __syncthreads();
    if (!last) {
        return;
    }
    __threadfence();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float4 total = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            const float4 one =
                __ldcg(reinterpret_cast<float4*>(parts + part * whole + corner + i * features));
            total.x += one.x;
            total.y += one.y;
            total.z += one.z;
            total.w += one.w;
        }
        *reinterpret_cast<float4*>(product + corner + i * features) = total;
    }
}
