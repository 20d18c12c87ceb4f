// Sensor readings to units, all formulas for all
//
// Every instruction has all threads of its warp. Device memory is as busy as before.
//
// /// kernelprof
// kernel = "convert"
// block = [256]
// grid = ["SENSORS // 256"]
// reference = "reference:convert"
// min_bytes = "33 * SENSORS"
//
// [sizes]
// SENSORS = 8650752
//
// [check]
// sizes = { SENSORS = 16384 }
//
// [[arguments]]
// name = "readings"
// type = "float32"
// shape = ["SENSORS", 4]
//
// [[arguments]]
// name = "kinds"
// type = "uint8"
// shape = ["SENSORS"]
//
// [[arguments]]
// name = "values"
// type = "float32"
// shape = ["SENSORS", 4]
// output = true
//
// [compile]
// standard = "c++17"
// flags = ["-O3", "--use_fast_math"]
// ///

// Converts four readings of a sensor by the formula of its kind.
extern "C" __global__ void convert(const float4* __restrict__ readings,
                                   const unsigned char* __restrict__ kinds,
                                   float4* __restrict__ values) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 raw = readings[i];
    const int kind = kinds[i] % 8;
    const float r[4] = {raw.x, raw.y, raw.z, raw.w};
    float v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        v[k] = fmaf(2.5f, r[k], 1.0f);
        v[k] = kind == 1 ? r[k] * fmaf(0.5f, r[k], -1.0f) : v[k];
        v[k] = kind == 2 ? 3.0f * fabsf(r[k]) : v[k];
        v[k] = kind == 3 ? 1.5f * fmaxf(r[k], 0.1f) : v[k];
        v[k] = kind == 4 ? fmaf(r[k] * r[k], r[k], 0.25f) : v[k];
        v[k] = kind == 5 ? __expf(r[k]) : v[k];
        v[k] = kind == 6 ? sqrtf(fabsf(r[k])) : v[k];
        v[k] = kind == 7 ? fminf(fmaxf(4.0f * r[k], -1.0f), 1.0f) : v[k];
    }
    values[i] = make_float4(v[0], v[1], v[2], v[3]);
}
