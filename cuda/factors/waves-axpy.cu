// /// factors
// title = "Linear combination of three wave fields"
// kind = "healthy"
// limit = "dram-bandwidth"
// expect = "Each byte crosses DRAM once, in vectors of four floats: nothing to remove."
// ///
#include "common.cuh"

constexpr int kValues = 1 << 26;

__global__ void __launch_bounds__(256) k(const float4* __restrict__ x, const float4* __restrict__ y,
                                         const float4* __restrict__ z, float4* __restrict__ out) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 a = x[i], b = y[i], c = z[i];
    out[i] = make_float4(0.5f * a.x + 0.3f * b.x - c.x, 0.5f * a.y + 0.3f * b.y - c.y,
                         0.5f * a.z + 0.3f * b.z - c.z, 0.5f * a.w + 0.3f * b.w - c.w);
}

int main() {
    float* fields[3];
    for (int f = 0; f < 3; ++f) fields[f] = uniform<float>(kValues, -1.0, 1.0, 64 + f);
    float* out = zeros<float>(kValues);
    auto vectors = [](float* values) { return reinterpret_cast<float4*>(values); };
    MEASURE(out, kValues, k<<<kValues / 1024, 256>>>(vectors(fields[0]), vectors(fields[1]), vectors(fields[2]),
                                                     vectors(out)));
}
