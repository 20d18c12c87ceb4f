// Each pixel takes the label that most of its 3 x 3 neighbours have
//
// The counters are an array of the thread that is indexed with labels, so it lies in local memory:
// every vote is a load and a store there, and each lane's goes to another line.
//
// /// kernelprof
// kernel = "smooth_labels"
// block = [32, 8]
// grid = ["ceil_div(width, 32)", "ceil_div(height, 8)"]
// reference = "reference:smooth_labels"
// min_bytes = "2 * height * width"
//
// [sizes]
// height = 2048
// width = 3072
//
// [check]
// sizes = { height = 200, width = 333 }
//
// [[arguments]]
// name = "labels"
// type = "uint8"
// shape = ["height + 2", "width + 2"]
//
// [[arguments]]
// name = "smoothed"
// type = "uint8"
// shape = ["height", "width"]
// output = true
//
// [[arguments]]
// name = "height"
// type = "int32"
// value = "height"
//
// [[arguments]]
// name = "width"
// type = "int32"
// value = "width"
//
// [compile]
// flags = ["-O3"]
// standard = "c++17"
// ///

constexpr int CLASSES = 16;

extern "C" __global__ void smooth_labels(const unsigned char* __restrict__ labels,
                                         unsigned char* __restrict__ smoothed, int height,
                                         int width) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    int votes[CLASSES] = {};
    for (int dy = 0; dy < 3; ++dy) {
        for (int dx = 0; dx < 3; ++dx) {
            const int label = labels[(y + dy) * (width + 2) + x + dx];
            ++votes[label];
        }
    }
    int winner = 0;
    int most = votes[0];
    for (int k = 1; k < CLASSES; ++k) {
        if (votes[k] > most) {
            most = votes[k];
            winner = k;
        }
    }
    smoothed[y * width + x] = winner;
}
