// Potential energy of particles that are stored as records
//
// A record has 8 floats, of which two are needed. They lie in one sector of 32 bytes, so that
// every particle moves a whole sector to use a quarter of it.
//
// /// kernelprof
// kernel = "lift_energy"
// block = [256]
// grid = ["ceil_div(n, 256)"]
// reference = "reference:of_records"
// flops = "2 * n"
// min_bytes = "12 * n"
//
// [sizes]
// n = 6291456
//
// [check]
// sizes = { n = 40000 }
//
// [[arguments]]
// name = "particles"
// type = "float32"
// shape = ["n", 8]
//
// [[arguments]]
// name = "energy"
// type = "float32"
// shape = ["n"]
// output = true
//
// [[arguments]]
// name = "gravity"
// type = "float32"
// value = 9.81
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "n"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int FIELDS = 8;  // x, y, z, three velocities, mass, charge
constexpr int HEIGHT = 2;
constexpr int MASS = 6;

extern "C" __global__ void lift_energy(const float* __restrict__ particles,
                                       float* __restrict__ energy, float gravity, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float height = particles[static_cast<size_t>(i) * FIELDS + HEIGHT];
        const float mass = particles[static_cast<size_t>(i) * FIELDS + MASS];
        energy[i] = mass * gravity * height;
    }
}
