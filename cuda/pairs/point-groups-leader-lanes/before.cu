// Flatness of groups of points, solved by every eighth lane
//
// Eight lanes add up the moments of a group, then its first lane alone finds the eigenvalues:
// every warp runs the long part with four lanes of 32.
//
// /// kernelprof
// kernel = "flatness_of_groups"
// block = [256]
// grid = ["POINTS // 256"]
// reference = "reference:flatness"
// min_bytes = "12 * POINTS + POINTS // 2"
//
// [sizes]
// POINTS = 4194304
//
// [check]
// sizes = { POINTS = 65536 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["POINTS"]
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["POINTS"]
//
// [[arguments]]
// name = "z"
// type = "float32"
// shape = ["POINTS"]
//
// [[arguments]]
// name = "flatness"
// type = "float32"
// shape = ["POINTS // 8"]
// output = true
//
// [compile]
// flags = ["-O3", "--use_fast_math"]
// standard = "c++17"
// ///

constexpr int sweeps = 6;

__device__ float group_sum(float value) {
    value += __shfl_xor_sync(~0u, value, 1);
    value += __shfl_xor_sync(~0u, value, 2);
    return value + __shfl_xor_sync(~0u, value, 4);
}

// A Jacobi rotation of axes p and q that makes pq zero; r is the third axis.
__device__ void rotate(float& pp, float& qq, float& pq, float& pr, float& qr) {
    const float half = 0.5f * (qq - pp);
    const float tangent = pq / (half + copysignf(sqrtf(half * half + pq * pq) + 1e-30f, half));
    const float cosine = rsqrtf(1.0f + tangent * tangent);
    const float sine = tangent * cosine;
    pp -= tangent * pq;
    qq += tangent * pq;
    pq = 0.0f;
    const float old = pr;
    pr = cosine * old - sine * qr;
    qr = sine * old + cosine * qr;
}

// Smallest eigenvalue of a matrix of second moments, as a share of all three.
__device__ float smallest_share(float xx, float yy, float zz, float xy, float xz, float yz) {
#pragma unroll 1
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        rotate(xx, yy, xy, xz, yz);
        rotate(xx, zz, xz, xy, yz);
        rotate(yy, zz, yz, xy, xz);
    }
    return fminf(xx, fminf(yy, zz)) / (xx + yy + zz);
}

extern "C" __global__ void flatness_of_groups(const float* __restrict__ x,
                                              const float* __restrict__ y,
                                              const float* __restrict__ z,
                                              float* __restrict__ flatness) {
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    const float dx = x[point] - 0.125f * group_sum(x[point]);
    const float dy = y[point] - 0.125f * group_sum(y[point]);
    const float dz = z[point] - 0.125f * group_sum(z[point]);
    const float xx = group_sum(dx * dx);
    const float yy = group_sum(dy * dy);
    const float zz = group_sum(dz * dz);
    const float xy = group_sum(dx * dy);
    const float xz = group_sum(dx * dz);
    const float yz = group_sum(dy * dz);
    if (threadIdx.x % 8 == 0) {
        flatness[point / 8] = smallest_share(xx, yy, zz, xy, xz, yz);
    }
}
