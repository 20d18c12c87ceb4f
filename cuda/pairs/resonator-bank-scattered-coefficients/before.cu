// A bank of resonators, coefficients in records
//
// Each thread reads its coefficients once from records of 32 bytes, so that a warp's request
// touches 32 sectors: half of all sectors are in excess. Then it computes for sixteen thousand
// samples, and the FP32 pipe is the limit.
//
// /// kernelprof
// kernel = "resonate"
// block = [512]
// grid = ["COUNT // 1024"]
// reference = "reference:resonate"
// flops = "6 * COUNT * SAMPLES"
//
// [sizes]
// COUNT = 270336
// SAMPLES = 16384
//
// [check]
// sizes = { COUNT = 2048, SAMPLES = 4096 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "signal"
// type = "float32"
// shape = ["SAMPLES"]
//
// [[arguments]]
// name = "bank"
// type = "float32"
// shape = ["COUNT", 8]
// fill = "reference:records"
//
// [[arguments]]
// name = "energy"
// type = "float32"
// shape = ["COUNT"]
// output = true
//
// [[arguments]]
// name = "count"
// type = "int32"
// value = "COUNT"
//
// [[arguments]]
// name = "samples"
// type = "int32"
// value = "SAMPLES"
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int TILE = 4096;
constexpr int FIELDS = 8;  // of a resonator: two coefficients, a gain, and what is not needed here
constexpr int EACH = 2;    // resonators of a thread

// The energy that each resonator of two poles takes from the signal.
extern "C" __global__ void __launch_bounds__(512) resonate(const float4* __restrict__ signal,
                                                           const float* __restrict__ bank,
                                                           float* __restrict__ energy, int count,
                                                           int samples) {
    __shared__ float4 tile[TILE / 4];
    const int first = blockIdx.x * (EACH * 512) + threadIdx.x;
    float near[EACH], far[EACH], gain[EACH], last[EACH], before[EACH], sum[EACH];
#pragma unroll
    for (int r = 0; r < EACH; ++r) {
        const int resonator = first + r * 512;
        near[r] = bank[resonator * FIELDS];
        far[r] = bank[resonator * FIELDS + 1];
        gain[r] = bank[resonator * FIELDS + 2];
        last[r] = 0.0f;
        before[r] = 0.0f;
        sum[r] = 0.0f;
    }
    for (int start = 0; start < samples; start += TILE) {
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE / 4; k += 512) {
            tile[k + threadIdx.x] = signal[start / 4 + k + threadIdx.x];
        }
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < TILE / 4; ++k) {
            const float4 four = tile[k];
            const float sample[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (int s = 0; s < 4; ++s) {
#pragma unroll
                for (int r = 0; r < EACH; ++r) {
                    const float now = fmaf(near[r], last[r], fmaf(far[r], before[r], sample[s]));
                    sum[r] = fmaf(now, now, sum[r]);
                    before[r] = last[r];
                    last[r] = now;
                }
            }
        }
    }
#pragma unroll
    for (int r = 0; r < EACH; ++r) energy[first + r * 512] = gain[r] * sum[r];
}
