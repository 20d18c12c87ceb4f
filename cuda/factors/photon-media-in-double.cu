// /// factors
// title = "Attenuation of photons in one of four media, integrated along the path"
// kind = "both pay"
// expect = "Divergence multiplies the double arithmetic: each fix divides what the other leaves."
//
// [causes.A]
// bottleneck = "warp-divergence"
// fix = "Process the photons grouped by medium."
//
// [causes.B]
// bottleneck = "fp64-throughput"
// fix = "Integrate in float."
// ///
#include "common.cuh"

constexpr int kPhotons = 1 << 20, kSteps = 256;
#ifdef FIX_B
using Real = float;
#else
using Real = double;
#endif

__global__ void __launch_bounds__(256) k(const float* energies, const int* media, const int* order, float* left) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIX_A
    const int photon = order[i];
#else
    const int photon = i;
#endif
    const Real energy = energies[photon];
    Real flux = 1, depth = Real(0.01) * energy;
    switch (media[photon]) {
        case 0:
            for (int s = 0; s < kSteps; ++s) {
                flux -= flux * (Real(0.004) + Real(0.0003) * energy * depth);
                depth = depth * Real(0.99) + Real(0.02);
            }
            break;
        case 1:
            for (int s = 0; s < kSteps; ++s) {
                flux -= flux * depth * (Real(0.003) + Real(0.0001) * energy * energy);
                depth += Real(0.01) * (Real(1.5) - depth);
            }
            break;
        case 2:
            for (int s = 0; s < kSteps; ++s) {
                flux = flux * Real(0.995) + Real(0.0002) * depth * energy;
                depth -= depth * Real(0.015) * flux;
            }
            break;
        default:
            for (int s = 0; s < kSteps; ++s) {
                flux -= Real(0.002) * flux * flux * (energy + depth);
                depth += Real(0.005) * flux;
            }
    }
    left[photon] = float(flux);
}

int main() {
    float* energies = uniform<float>(kPhotons, 0.5, 5.0, 15);
    int* media = uniform<int>(kPhotons, 0.0, 4.0, 16);
    const std::vector<int> host = download(media, kPhotons);
    std::vector<int> order;
    for (int medium = 0; medium < 4; ++medium) {
        for (int i = 0; i < kPhotons; ++i) {
            if (host[i] == medium) order.push_back(i);
        }
    }
    const int* grouped = upload(order);
    float* left = zeros<float>(kPhotons);
    MEASURE(left, kPhotons, k<<<kPhotons / 256, 256>>>(energies, media, grouped, left));
}
