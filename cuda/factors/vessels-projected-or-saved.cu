// /// factors
// title = "Vessels' distance from a fairway in a national grid with a series of 24 terms"
// kind = "one alone does not pay"
// blind = true
// expect = "Records of 64 bytes, of which 12 are used, fill DRAM. The saved projection (A) adds 16 bytes a report, so A alone is about 15 to 20 % slower; with columns (B, about 1.7x) the fp64 pipe is the limit and A pays about 1.4x."
//
// [causes.A]
// bottleneck = "fp64-throughput"
// fix = "Read the projection that was saved when the report came in."
//
// [causes.B]
// bottleneck = "uncoalesced-global-access"
// fix = "Keep the fields in columns instead of records of sixteen floats."
// ///
#include "common.cuh"

constexpr int kReports = 1 << 23, kFields = 16, kTerms = 24;
enum Field { kLongitude = 1, kLatitude = 6, kSpeed = 13 };

struct alignas(16) Projected {
    double northing;
    float scale, turn;
};

__constant__ double c_north[kTerms], c_scale[kTerms];

// Clenshaw's recurrence for sums over sin(2 n latitude) and cos(2 n latitude).
__device__ __forceinline__ Projected project(float latitude) {
    double s, c, north1 = 0.0, north2 = 0.0, scale1 = 0.0, scale2 = 0.0;
    sincospi(latitude * (1.0 / 90.0), &s, &c);
#pragma unroll
    for (int n = kTerms - 1; n >= 0; --n) {
        const double north = c_north[n] + 2.0 * c * north1 - north2;
        const double scale = c_scale[n] + 2.0 * c * scale1 - scale2;
        north2 = north1;
        scale2 = scale1;
        north1 = north;
        scale1 = scale;
    }
    return {latitude * 0.01745 + north1 * s, float(1.0 + scale1 * c - scale2), float(s)};
}

__device__ __forceinline__ float field(const float* reports, int i, Field f) {
#ifdef FIX_B
    return reports[size_t(f) * kReports + i];
#else
    return reports[size_t(i) * kFields + f];
#endif
}

__global__ void __launch_bounds__(256) k(const float* reports, const Projected* saved, float* strays) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float longitude = field(reports, i, kLongitude), speed = field(reports, i, kSpeed);
#ifdef FIX_A
    const Projected p = saved[i];
#else
    const Projected p = project(field(reports, i, kLatitude));
#endif
    const float off = static_cast<float>(p.northing - 0.011 * longitude);
    strays[i] = fabsf(off) * p.scale * (1.0f + 0.02f * speed) + 0.1f * p.turn * p.turn * speed;
}

__global__ void columns(const float* records, float* to) {
    const size_t i = blockIdx.x * size_t(256) + threadIdx.x;
    to[i % kFields * kReports + i / kFields] = records[i];
}

__global__ void save(const float* reports, Projected* saved) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    saved[i] = project(field(reports, i, kLatitude));
}

int main() {
    double north[kTerms], scale[kTerms];
    for (int n = 0; n < kTerms; ++n) {
        north[n] = (unit(n, 1002) - 0.5) * exp2(-0.5 * n - 3);
        scale[n] = (unit(n, 1003) - 0.5) * exp2(-0.5 * n - 3);
    }
    CHECK(cudaMemcpyToSymbol(c_north, north, sizeof(north)));
    CHECK(cudaMemcpyToSymbol(c_scale, scale, sizeof(scale)));
    float* reports = uniform<float>(size_t(kReports) * kFields, 0.0, 60.0, 1001);
#ifdef FIX_B
    float* sorted = zeros<float>(size_t(kReports) * kFields);
    columns<<<kReports / 256 * kFields, 256>>>(reports, sorted);
    reports = sorted;
#endif
    Projected* saved = nullptr;
#ifdef FIX_A
    saved = zeros<Projected>(kReports);
    save<<<kReports / 256, 256>>>(reports, saved);
#endif
    float* strays = zeros<float>(kReports);
    MEASURE(strays, kReports, k<<<kReports / 256, 256>>>(reports, saved, strays));
}
