// Hydropathy of DNA words of five codons, the table in shared memory
//
// A block copies the 64 values, and a warp's lookups are spread over 32 banks: three or four of
// them share the fullest one.
//
// /// kernelprof
// kernel = "hydropathy"
// block = [256]
// grid = ["WORDS // 1024"]
// reference = "reference:hydropathy"
// min_bytes = "8 * WORDS"
//
// [sizes]
// WORDS = 33792000
//
// [check]
// sizes = { WORDS = 65536 }
//
// [[arguments]]
// name = "words"
// type = "uint32"
// shape = ["WORDS"]
// fill = "reference:words"
//
// [[arguments]]
// name = "sums"
// type = "float32"
// shape = ["WORDS"]
// output = true
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int CODONS = 5;  // of six bits, in a word

// Kyte and Doolittle's scale by codon, bases in the order TCAG; 0 for the stops.
__device__ const float scale[64] = {
    2.8f,  2.8f,  3.8f,  3.8f,  -0.8f, -0.8f, -0.8f, -0.8f,  // FFLLSSSS
    -1.3f, -1.3f, 0.0f,  0.0f,  2.5f,  2.5f,  0.0f,  -0.9f,  // YY**CC*W
    3.8f,  3.8f,  3.8f,  3.8f,  -1.6f, -1.6f, -1.6f, -1.6f,  // LLLLPPPP
    -3.2f, -3.2f, -3.5f, -3.5f, -4.5f, -4.5f, -4.5f, -4.5f,  // HHQQRRRR
    4.5f,  4.5f,  4.5f,  1.9f,  -0.7f, -0.7f, -0.7f, -0.7f,  // IIIMTTTT
    -3.5f, -3.5f, -3.9f, -3.9f, -0.8f, -0.8f, -4.5f, -4.5f,  // NNKKSSRR
    4.2f,  4.2f,  4.2f,  4.2f,  1.8f,  1.8f,  1.8f,  1.8f,   // VVVVAAAA
    -3.5f, -3.5f, -3.5f, -3.5f, -0.4f, -0.4f, -0.4f, -0.4f,  // DDEEGGGG
};

// The sum over the five codons of a word.
__device__ float translated(const float* table, unsigned word) {
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < CODONS; ++k) sum += table[word >> (6 * k) & 63];
    return sum;
}

extern "C" __global__ void hydropathy(const uint4* __restrict__ words, float4* __restrict__ sums) {
    __shared__ float table[64];
    if (threadIdx.x < 64) table[threadIdx.x] = scale[threadIdx.x];
    __syncthreads();
    const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const uint4 four = words[i];
    sums[i] = make_float4(translated(table, four.x), translated(table, four.y),
                          translated(table, four.z), translated(table, four.w));
}
