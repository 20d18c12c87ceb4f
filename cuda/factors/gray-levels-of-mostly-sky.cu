// /// factors
// title = "Histogram of gray levels of an image that is mostly sky"
// kind = "alternatives"
// expect = "Either fix ends the queue of atomics on the bins of the sky; then loads are the limit."
// tolerance = 0.0
//
// [causes.A]
// bottleneck = "atomic-contention"
// fix = "Count in a histogram for each warp in shared memory."
//
// [causes.B]
// bottleneck = "atomic-contention"
// fix = "Add runs of equal levels at once: a thread counts in a register while the level stays."
// ///
#include "common.cuh"

constexpr int kPixels = 1 << 25, kLevels = 256, kThreads = 256, kRun = 256;
constexpr int kBlocks = kPixels / kThreads / kRun;
constexpr int kCopies = kThreads / 32;

__global__ void __launch_bounds__(kThreads) k(const uint4* image, unsigned* histogram) {
#ifdef FIX_A
    __shared__ unsigned counts[kCopies * kLevels];
    for (int i = threadIdx.x; i < kCopies * kLevels; i += kThreads) counts[i] = 0;
    __syncthreads();
    unsigned* mine = counts + threadIdx.x / 32 * kLevels;
#else
    unsigned* mine = histogram;
#endif
    unsigned level = 0, run = 0;
    for (int part = 0; part < kRun / 4; ++part) {
        // Strips of the image are stored four columns wide.
        const uint4 pixels = image[(size_t(blockIdx.x) * (kRun / 4) + part) * kThreads + threadIdx.x];
        const unsigned words[4] = {pixels.x, pixels.y, pixels.z, pixels.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const unsigned now = words[i] & 255;
#ifdef FIX_B
            if (now != level) {
                if (run > 0) atomicAdd(mine + level, run);
                level = now;
                run = 0;
            }
            ++run;
#else
            atomicAdd(mine + now, 1u);
#endif
        }
    }
    if (run > 0) atomicAdd(mine + level, run);
#ifdef FIX_A
    __syncthreads();
    for (int i = threadIdx.x; i < kLevels; i += kThreads) {
        unsigned sum = 0;
        for (int c = 0; c < kCopies; ++c) sum += counts[c * kLevels + i];
        if (sum > 0) atomicAdd(histogram + i, sum);
    }
#endif
}

// The sky has 64 levels, each over some strips; one pixel in 512 is something else.
__global__ void fill_image(unsigned* image) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned strip = i / 4 % kThreads, part = i / 4 / kThreads;
    const unsigned sky = 150 + (strip / 32 + part / 8) % 64;
    image[i] = hash32(i) % 512 == 0 ? hash32(i + 1) & 255 : sky;
}

int main() {
    unsigned* image = zeros<unsigned>(kPixels);
    fill_image<<<kPixels / 256, 256>>>(image);
    unsigned* histogram = zeros<unsigned>(kLevels);
    MEASURE(histogram, kLevels, k<<<kBlocks, kThreads>>>(reinterpret_cast<uint4*>(image), histogram));
}
