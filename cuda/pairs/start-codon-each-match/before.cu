// Start codons in the reads of two samples, one atomic for each
//
// The counter's address comes from the read's sample, so the compiler cannot join the lanes'
// additions, and every match in the GPU queues for one of two words.
//
// /// kernelprof
// kernel = "start_codons"
// block = [256]
// grid = ["READS // 8"]
// reference = "reference:start_codons"
// min_bytes = "READS * LENGTH"
//
// [sizes]
// READS = 16384
// LENGTH = 2048
//
// [check]
// sizes = { READS = 512, LENGTH = 300 }
//
// [[arguments]]
// name = "bases"
// type = "uint8"
// shape = ["READS", "LENGTH"]
// fill = "reference:bases"
//
// [[arguments]]
// name = "sample"
// type = "int32"
// shape = ["READS"]
// fill = "reference:samples"
//
// [[arguments]]
// name = "counts"
// type = "uint32"
// shape = [2]
// fill = "zeros"
// output = true
//
// [[arguments]]
// name = "length"
// type = "int32"
// value = "LENGTH"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

// A warp for each read.
extern "C" __global__ void start_codons(const unsigned char* __restrict__ bases,
                                        const int* __restrict__ sample, unsigned* counts,
                                        int length) {
    const int read = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    const unsigned char* text = bases + static_cast<size_t>(read) * length;
    unsigned* count = &counts[sample[read]];
#pragma unroll 4
    for (int at = lane; at + 2 < length; at += 32) {
        if ((text[at] == 'A') & (text[at + 1] == 'T') & (text[at + 2] == 'G')) {
            atomicAdd(count, 1u);
        }
    }
}
