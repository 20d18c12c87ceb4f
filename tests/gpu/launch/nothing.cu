// /// kernelprof
// kernel = "nothing"
// block = [32]
// grid = [1]
// reference = "none"
//
// [sizes]
// n = 1
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["n"]
// ///
__global__ void nothing(const float* x) {}
