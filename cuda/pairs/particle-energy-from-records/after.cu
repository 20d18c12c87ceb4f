// Potential energy of particles whose fields are arrays
//
// Only the two fields that are needed are read, and neighbouring threads read neighbouring
// floats.
//
// /// kernelprof
// kernel = "lift_energy"
// block = [256]
// grid = ["ceil_div(n, 256)"]
// reference = "reference:of_fields"
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
// shape = [8, "n"]
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

// Fields: x, y, z, three velocities, mass, charge.
constexpr int HEIGHT = 2;
constexpr int MASS = 6;

extern "C" __global__ void lift_energy(const float* __restrict__ particles,
                                       float* __restrict__ energy, float gravity, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float height = particles[static_cast<size_t>(HEIGHT) * n + i];
        const float mass = particles[static_cast<size_t>(MASS) * n + i];
        energy[i] = mass * gravity * height;
    }
}
