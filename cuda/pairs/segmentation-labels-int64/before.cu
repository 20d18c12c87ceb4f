// Pixel accuracy of segmented images, with labels as 64-bit integers
//
// For each band of an image: how many pixels carry a label, and how many of them were predicted.
// The labels are 0 to 15 and arrive as int64, as frameworks give them: seven of eight bytes that
// come from device memory are zero.
//
// /// kernelprof
// kernel = "band_accuracy"
// block = [256]
// grid = ["images * pixels // band"]
// reference = "reference:band_accuracy"
// min_bytes = "2 * images * pixels + 8 * (images * pixels // band)"
//
// [sizes]
// images = 32
// pixels = 1048576
// band = 16384
//
// [check]
// sizes = { images = 2, pixels = 131072, band = 16384 }
//
// [[arguments]]
// name = "predicted"
// type = "int64"
// shape = ["images", "pixels"]
//
// [[arguments]]
// name = "truth"
// type = "int64"
// shape = ["images", "pixels"]
//
// [[arguments]]
// name = "right"
// type = "int32"
// shape = ["images * pixels // band"]
// output = true
//
// [[arguments]]
// name = "labelled"
// type = "int32"
// shape = ["images * pixels // band"]
// output = true
//
// [[arguments]]
// name = "band"
// type = "int32"
// value = "band"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

using Label = long long;

constexpr Label UNLABELLED = 15;
constexpr int PACK = 16 / sizeof(Label);  // labels of a 16-byte load

union Labels {
    uint4 words;
    Label each[PACK];
};

extern "C" __global__ void __launch_bounds__(256)
    band_accuracy(const Label* __restrict__ predicted, const Label* __restrict__ truth,
                  int* __restrict__ right, int* __restrict__ labelled, int band) {
    __shared__ int sums[2];
    if (threadIdx.x < 2) sums[threadIdx.x] = 0;
    __syncthreads();

    const size_t first = static_cast<size_t>(blockIdx.x) * band / PACK;
    const uint4* predicted4 = reinterpret_cast<const uint4*>(predicted) + first;
    const uint4* truth4 = reinterpret_cast<const uint4*>(truth) + first;
    int hits = 0;
    int known = 0;
#pragma unroll 4
    for (int i = threadIdx.x; i < band / PACK; i += 256) {
        Labels guess;
        Labels wanted;
        guess.words = predicted4[i];
        wanted.words = truth4[i];
#pragma unroll
        for (int k = 0; k < PACK; ++k) {
            const bool counts = wanted.each[k] != UNLABELLED;
            known += counts;
            hits += counts && guess.each[k] == wanted.each[k];
        }
    }
    hits = __reduce_add_sync(0xffffffffu, hits);
    known = __reduce_add_sync(0xffffffffu, known);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&sums[0], hits);
        atomicAdd(&sums[1], known);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        right[blockIdx.x] = sums[0];
        labelled[blockIdx.x] = sums[1];
    }
}
