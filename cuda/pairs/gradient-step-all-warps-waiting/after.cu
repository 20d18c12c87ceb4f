// A gradient step, eight loads a thread
//
// Four times the loads are under way a thread. Device memory does not get faster by it.
//
// /// kernelprof
// kernel = "descend"
// block = [256]
// grid = ["N // (1024 * EACH)"]
// reference = "reference:descend"
// min_bytes = "12 * N"
//
// [sizes]
// N = 25952256
//
// [check]
// sizes = { N = 65536 }
//
// [[arguments]]
// name = "gradients"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "weights"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "updated"
// type = "float32"
// shape = ["N"]
// output = true
//
// [[arguments]]
// name = "rate"
// type = "float32"
// value = 0.0625
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// defines = { EACH = 4 }
// ///

// One step of gradient descent, EACH vectors of four weights for a thread.
extern "C" __global__ void __launch_bounds__(256) descend(const float4* __restrict__ gradients,
                                                          const float4* __restrict__ weights,
                                                          float4* __restrict__ updated,
                                                          float rate) {
    const int first = blockIdx.x * (EACH * 256) + threadIdx.x;
    float4 w[EACH], g[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        w[k] = weights[first + k * 256];
        g[k] = gradients[first + k * 256];
    }
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        updated[first + k * 256] =
            make_float4(fmaf(-rate, g[k].x, w[k].x), fmaf(-rate, g[k].y, w[k].y),
                        fmaf(-rate, g[k].z, w[k].z), fmaf(-rate, g[k].w, w[k].w));
    }
}
