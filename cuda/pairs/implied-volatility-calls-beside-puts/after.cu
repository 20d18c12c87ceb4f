// Implied volatility of an option chain, a warp of calls and a warp of puts
//
// Of each 64 quotes the first warp takes the calls and the second the puts, so that all lanes of
// a warp are in the same solver.
//
// /// kernelprof
// kernel = "implied_volatility"
// block = [256]
// grid = ["2 * STRIKES // 256"]
// reference = "reference:implied"
// min_bytes = "24 * STRIKES"
//
// [sizes]
// STRIKES = 1048576
//
// [check]
// sizes = { STRIKES = 16384 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "strike"
// type = "float32"
// shape = ["STRIKES"]
// fill = "reference:strikes"
//
// [[arguments]]
// name = "years"
// type = "float32"
// shape = ["STRIKES"]
// fill = "reference:expiries"
//
// [[arguments]]
// name = "price"
// type = "float32"
// shape = ["STRIKES", 2]
// fill = "reference:prices"
//
// [[arguments]]
// name = "volatility"
// type = "float32"
// shape = ["STRIKES", 2]
// output = true
//
// [compile]
// flags = ["-O3", "--use_fast_math"]
// standard = "c++17"
// ///

constexpr float spot = 100.0f;
constexpr float rate = 0.02f;
constexpr int newton_steps = 12;

__device__ float density(float x) {
    return 0.39894228f * expf(-0.5f * x * x);
}

__device__ float call_volatility(float strike, float years, float price) {
    const float root = sqrtf(years);
    const float drift = logf(spot / strike) + rate * years;
    const float discounted = strike * expf(-rate * years);
    float sigma = 0.5f;
#pragma unroll 1
    for (int step = 0; step < newton_steps; ++step) {
        const float width = sigma * root;
        const float d = drift / width + 0.5f * width;
        const float value = spot * normcdff(d) - discounted * normcdff(d - width);
        sigma = fmaxf(sigma + (price - value) / (spot * root * density(d)), 0.01f);
    }
    return sigma;
}

__device__ float put_volatility(float strike, float years, float price) {
    const float root = sqrtf(years);
    const float drift = logf(spot / strike) + rate * years;
    const float discounted = strike * expf(-rate * years);
    float sigma = 0.5f;
#pragma unroll 1
    for (int step = 0; step < newton_steps; ++step) {
        const float width = sigma * root;
        const float d = drift / width + 0.5f * width;
        const float value = discounted * normcdff(width - d) - spot * normcdff(-d);
        sigma = fmaxf(sigma + (price - value) / (spot * root * density(d)), 0.01f);
    }
    return sigma;
}

// Quotes with an even number are calls, those with an odd one the puts of the same strike.
extern "C" __global__ void implied_volatility(const float* __restrict__ strike,
                                              const float* __restrict__ years,
                                              const float* __restrict__ price,
                                              float* __restrict__ volatility) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int quote = (thread & ~63) | (thread & 31) << 1 | (thread >> 5 & 1);
    const int pair = quote / 2;
    volatility[quote] = quote % 2 == 0
                            ? call_volatility(strike[pair], years[pair], price[quote])
                            : put_volatility(strike[pair], years[pair], price[quote]);
}
