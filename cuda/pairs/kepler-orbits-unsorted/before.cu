// Kepler's equation by iteration, orbits in the order of a catalogue
//
// One orbit in twenty is a comet's and takes five times the steps of an asteroid's; most warps
// have one, and the other lanes wait for it.
//
// /// kernelprof
// kernel = "kepler"
// block = [256]
// grid = ["N // 256"]
// reference = "reference:anomalies"
// min_bytes = "12 * N"
//
// [sizes]
// N = 4194304
//
// [check]
// sizes = { N = 32768 }
//
// [[arguments]]
// name = "mean"
// type = "float32"
// shape = ["N"]
// fill = "reference:catalogue_means"
//
// [[arguments]]
// name = "eccentricity"
// type = "float32"
// shape = ["N"]
// fill = "reference:catalogue_eccentricities"
//
// [[arguments]]
// name = "eccentric"
// type = "float32"
// shape = ["N"]
// output = true
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int most_steps = 400;
constexpr float near_enough = 4e-6f;

extern "C" __global__ void kepler(const float* __restrict__ mean,
                                  const float* __restrict__ eccentricity,
                                  float* __restrict__ eccentric) {
    const int orbit = blockIdx.x * blockDim.x + threadIdx.x;
    const float start = mean[orbit];
    const float flatness = eccentricity[orbit];
    float anomaly = start;
    for (int step = 0; step < most_steps; ++step) {
        const float next = start + flatness * sinf(anomaly);
        const float change = fabsf(next - anomaly);
        anomaly = next;
        if (change < near_enough) {
            break;
        }
    }
    eccentric[orbit] = anomaly;
}
