// Start codons in the reads of two samples, one atomic a read
//
// A lane counts its matches in a register; the warp adds them up and only the first lane goes to
// the counter.
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
    unsigned found = 0;
#pragma unroll 4
    for (int at = lane; at + 2 < length; at += 32) {
        if ((text[at] == 'A') & (text[at + 1] == 'T') & (text[at + 2] == 'G')) {
            ++found;
        }
    }
    found = __reduce_add_sync(~0u, found);
    if (lane == 0) {
        atomicAdd(count, found);
    }
}
