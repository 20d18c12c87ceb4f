// Sensor readings to units, a branch for each kind
//
// Kinds are mixed, so that a warp runs nearly all eight branches with four threads each. They are
// short, and are done long before device memory has delivered the next readings.
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
    switch (kind) {
        case 0:
            for (int k = 0; k < 4; ++k) v[k] = fmaf(2.5f, r[k], 1.0f);
            break;
        case 1:
            for (int k = 0; k < 4; ++k) v[k] = r[k] * fmaf(0.5f, r[k], -1.0f);
            break;
        case 2:
            for (int k = 0; k < 4; ++k) v[k] = 3.0f * fabsf(r[k]);
            break;
        case 3:
            for (int k = 0; k < 4; ++k) v[k] = 1.5f * fmaxf(r[k], 0.1f);
            break;
        case 4:
            for (int k = 0; k < 4; ++k) v[k] = fmaf(r[k] * r[k], r[k], 0.25f);
            break;
        case 5:
            for (int k = 0; k < 4; ++k) v[k] = __expf(r[k]);
            break;
        case 6:
            for (int k = 0; k < 4; ++k) v[k] = sqrtf(fabsf(r[k]));
            break;
        default:
            for (int k = 0; k < 4; ++k) v[k] = fminf(fmaxf(4.0f * r[k], -1.0f), 1.0f);
    }
    values[i] = make_float4(v[0], v[1], v[2], v[3]);
}
