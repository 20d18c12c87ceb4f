// Flatness of groups of points, solved by whole warps
//
// The moments of a block's 32 groups go through shared memory, and the long part is run once, by
// a warp with all of its lanes.
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
    __shared__ float moments[6][32];
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
        const int group = threadIdx.x / 8;
        moments[0][group] = xx;
        moments[1][group] = yy;
        moments[2][group] = zz;
        moments[3][group] = xy;
        moments[4][group] = xz;
        moments[5][group] = yz;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        const int group = threadIdx.x;
        flatness[blockIdx.x * 32 + group] =
            smallest_share(moments[0][group], moments[1][group], moments[2][group],
                           moments[3][group], moments[4][group], moments[5][group]);
    }
}
