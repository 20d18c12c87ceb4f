// /// factors
// title = "Assess tax records by one of four rules"
// kind = "one alone does not pay"
// expect = "Visiting the records by rule ends the divergence but scatters eight loads each: B pays with A only."
//
// [causes.A]
// bottleneck = "uncoalesced-global-access"
// fix = "Store the eight fields of a record together in 32 bytes, which are one sector wherever they are."
//
// [causes.B]
// bottleneck = "warp-divergence"
// fix = "Visit the records in an order grouped by rule."
// ///
#include "common.cuh"

constexpr int kRecords = 1 << 22, kRounds = 64;

template <int kRule>
__device__ float assess(const float* f) {
    float tax = f[0];
#pragma unroll 4
    for (int r = 0; r < kRounds; ++r) {
        if (kRule == 0) tax = tax * 0.95f + f[1] * 0.04f - fminf(f[2], tax) * 0.01f;
        if (kRule == 1) tax = fmaxf(tax - f[3] * 0.02f, f[4] * 0.1f) + 0.003f * f[1];
        if (kRule == 2) tax += 0.02f * (f[5] - tax) * (1.0f + f[6] * 0.01f);
        if (kRule == 3) tax = tax * (1.0f - 0.01f * f[7]) + 0.01f * fabsf(tax - f[2]);
    }
    return tax;
}

__global__ void __launch_bounds__(256) k(const float* fields, const unsigned char* rules, const int* order,
                                         float* taxes) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIX_B
    const int record = order[i];
#else
    const int record = i;
#endif
    float f[8];
#ifdef FIX_A
    const float4 low = reinterpret_cast<const float4*>(fields)[2 * record];
    const float4 high = reinterpret_cast<const float4*>(fields)[2 * record + 1];
    f[0] = low.x; f[1] = low.y; f[2] = low.z; f[3] = low.w;
    f[4] = high.x; f[5] = high.y; f[6] = high.z; f[7] = high.w;
#else
#pragma unroll
    for (int n = 0; n < 8; ++n) f[n] = fields[size_t(n) * kRecords + record];
#endif
    float tax;
    switch (rules[record]) {
        case 0: tax = assess<0>(f); break;
        case 1: tax = assess<1>(f); break;
        case 2: tax = assess<2>(f); break;
        default: tax = assess<3>(f);
    }
    taxes[record] = tax;
}

int main() {
    float* fields = uniform<float>(size_t(kRecords) * 8, 0.0, 2.0, 45);
#ifdef FIX_A
    const std::vector<float> host = download(fields, size_t(kRecords) * 8);
    std::vector<float> records(host.size());
    for (size_t i = 0; i < host.size(); ++i) records[i % kRecords * 8 + i / kRecords] = host[i];
    fields = upload(records);
#endif
    unsigned char* rules = uniform<unsigned char>(kRecords, 0.0, 4.0, 46);
    const std::vector<unsigned char> kinds = download(rules, kRecords);
    // An odd factor modulo a power of two is a permutation: the register lists records in no order.
    std::vector<int> order;
    for (int rule = 0; rule < 4; ++rule) {
        for (unsigned i = 0; i < kRecords; ++i) {
            const int record = i * 2654435761u % kRecords;
            if (kinds[record] == rule) order.push_back(record);
        }
    }
    const int* grouped = upload(order);
    float* taxes = zeros<float>(kRecords);
    MEASURE(taxes, kRecords, k<<<kRecords / 256, 256>>>(fields, rules, grouped, taxes));
}
