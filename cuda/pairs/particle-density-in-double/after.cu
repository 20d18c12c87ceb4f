// Density of a fluid of particles at many probes, computed in float
//
// Positions and the density are float data, and four digits are asked for. Only Real differs: a
// pair of probe and particle takes ten FP32 operations, at twice the rate.
//
// /// kernelprof
// kernel = "density"
// block = ["TILE"]
// grid = ["probes // (TILE * 2)"]
// reference = "reference:density"
//
// [sizes]
// probes = 262144
// particles = 2048
//
// [check]
// sizes = { probes = 2048, particles = 512 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "probe"
// type = "float32"
// shape = ["3", "probes"]
//
// [[arguments]]
// name = "particle"
// type = "float32"
// shape = ["particles", "4"]
//
// [[arguments]]
// name = "out"
// type = "float32"
// shape = ["probes"]
// output = true
//
// [[arguments]]
// name = "probes"
// type = "int32"
// value = "probes"
//
// [[arguments]]
// name = "particles"
// type = "int32"
// value = "particles"
//
// [[arguments]]
// name = "radius"
// type = "float32"
// value = 0.75
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// defines = { TILE = 256 }
// ///

using Real = float;

constexpr int kEach = 2;  // probes a thread

struct __align__(16) Particle {
    Real x, y, z, mass;
};

// Sum of mass (radius^2 - distance^2)^3 over the particles within the radius.
extern "C" __global__ void density(const float* __restrict__ probe,
                                   const float* __restrict__ particle, float* __restrict__ out,
                                   int probes, int particles, float radius) {
    __shared__ Particle tile[TILE];
    const int first = blockIdx.x * TILE * kEach + threadIdx.x;
    const Real reach = static_cast<Real>(radius) * radius;
    Real x[kEach];
    Real y[kEach];
    Real z[kEach];
    Real sum[kEach];
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
        x[e] = probe[first + e * TILE];
        y[e] = probe[probes + first + e * TILE];
        z[e] = probe[2 * probes + first + e * TILE];
        sum[e] = 0;
    }
    for (int start = 0; start < particles; start += TILE) {
        __syncthreads();
        const float4 one = reinterpret_cast<const float4*>(particle)[start + threadIdx.x];
        tile[threadIdx.x] = {one.x, one.y, one.z, one.w};
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < TILE; ++k) {
            const Particle other = tile[k];
#pragma unroll
            for (int e = 0; e < kEach; ++e) {
                const Real dx = x[e] - other.x;
                const Real dy = y[e] - other.y;
                const Real dz = z[e] - other.z;
                const Real inside = reach - dx * dx - dy * dy - dz * dz;
                if (inside > 0) sum[e] += other.mass * (inside * inside * inside);
            }
        }
    }
#pragma unroll
    for (int e = 0; e < kEach; ++e) out[first + e * TILE] = static_cast<float>(sum[e]);
}
