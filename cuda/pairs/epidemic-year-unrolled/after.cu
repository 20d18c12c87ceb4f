// Who an epidemic spares in many regions, with a loop over the days of a year
//
// The loop's body is one day: a few dozen instructions that all warps find in the cache.
//
// /// kernelprof
// kernel = "run_out"
// block = [128]
// grid = ["regions // 128"]
// reference = "reference:run_out"
//
// [sizes]
// regions = 811008
//
// [check]
// sizes = { regions = 1024 }
// tolerance = 1e-4
//
// [[arguments]]
// name = "contact"
// type = "float32"
// shape = ["regions"]
// fill = "reference:contact"
//
// [[arguments]]
// name = "onset"
// type = "float32"
// shape = ["regions"]
// fill = "reference:onset"
//
// [[arguments]]
// name = "recovery"
// type = "float32"
// shape = ["regions"]
// fill = "reference:recovery"
//
// [[arguments]]
// name = "spared"
// type = "float32"
// shape = ["regions"]
// output = true
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int DAYS = 365;
constexpr int YEARS = 4;  // at most
constexpr float OVER = 1e-5f;

struct State {
    float susceptible, exposed, infectious;
};

struct Rates {
    float contact, onset, recovery;  // of a day
};

__device__ State change(const State& s, const Rates& r) {
    const float caught = r.contact * s.susceptible * s.infectious;
    return {-caught, caught - r.onset * s.exposed, r.onset * s.exposed - r.recovery * s.infectious};
}

__device__ State moved(const State& s, float by, const State& d) {
    return {fmaf(by, d.susceptible, s.susceptible), fmaf(by, d.exposed, s.exposed),
            fmaf(by, d.infectious, s.infectious)};
}

// A day by the classical Runge-Kutta rule.
__device__ State next_day(const State& s, const Rates& r) {
    const State a = change(s, r);
    const State b = change(moved(s, 0.5f, a), r);
    const State c = change(moved(s, 0.5f, b), r);
    const State d = change(moved(s, 1.0f, c), r);
    const State sides = moved(moved(s, 1.0f / 6, a), 1.0f / 6, d);
    return moved(moved(sides, 1.0f / 3, b), 1.0f / 3, c);
}

extern "C" __global__ void __launch_bounds__(128)
    run_out(const float* __restrict__ contact, const float* __restrict__ onset,
            const float* __restrict__ recovery, float* __restrict__ spared) {
    const int region = blockIdx.x * 128 + threadIdx.x;
    const Rates rates = {contact[region], onset[region], recovery[region]};
    State state = {0.999f, 0.0f, 0.001f};
    bool over = false;
#pragma unroll 1
    for (int year = 0; year < YEARS && !over; ++year) {
#pragma unroll 1
        for (int day = 0; day < DAYS; ++day) {
            state = next_day(state, rates);
            over = state.exposed + state.infectious < OVER;
            if (over) break;
        }
    }
    spared[region] = state.susceptible;
}
