// /// factors
// title = "Scores of games of 8 to 256 throws of a die with twenty faces"
// kind = "both pay"
// blind = true
// expect = "A warp throws as often as its longest game, three times the mean, and each throw loads and stores a tally at an index known at run time only."
//
// [causes.A]
// bottleneck = "warp-divergence"
// fix = "Play the games in the order of their lengths."
//
// [causes.B]
// bottleneck = "local-memory-traffic"
// fix = "Keep the tallies in shared memory, those of a thread in its own bank."
// ///
#include "common.cuh"

constexpr int kGames = 1 << 20, kFaces = 20;

__global__ void __launch_bounds__(256) k(const uint2* games, float* scores) {
    const uint2 game = games[blockIdx.x * 256 + threadIdx.x];
    unsigned state = hash32(game.x);
    float score = 0.0f;
#ifdef FIX_B
    __shared__ unsigned tallies[kFaces][256];
    for (int f = 0; f < kFaces; ++f) tallies[f][threadIdx.x] = 0;
#else
    unsigned tallies[kFaces] = {};
#endif
#pragma unroll 1
    for (unsigned n = 0; n < game.y; ++n) {
        state = state * 1664525u + 1013904223u;
        const unsigned face = __umulhi(state, kFaces);
#ifdef FIX_B
        const unsigned tally = tallies[face][threadIdx.x]++;
#else
        const unsigned tally = tallies[face]++;
#endif
        score = 0.99f * score + float(tally * (face + 1));
    }
    scores[game.x] = score;
}

int main() {
    std::vector<uint2> games(kGames);
    for (int i = 0; i < kGames; ++i) {
        const double u = unit(i, 251);
        games[i] = make_uint2(i, 8 + unsigned(248 * u * u * u));
    }
#ifdef FIX_A
    std::stable_sort(games.begin(), games.end(), [](const uint2& a, const uint2& b) { return a.y > b.y; });
#endif
    uint2* list = upload(games);
    float* scores = zeros<float>(kGames);
    MEASURE(scores, kGames, k<<<kGames / 256, 256>>>(list, scores));
}
