// Structures and vectors by value, with members of every alignment.
// /// kernelprof
// kernel = "affine"
// block = [16, 16]
// grid = ["ceil_div(w, 16)", "ceil_div(h, 16)"]
// reference = "structures:affine"
// sizes = { w = 4096, h = 4096 }
// check = { sizes = { w = 65, h = 33 } }
// arguments = [
//   { name = "v", members = [
//     { name = "x", type = "float32", value = 2 },
//     { name = "yzw", type = "float32", values = [0, 0, 3] } ] },
//   { name = "p", members = [
//     { name = "on", type = "bool", value = 1 },
//     { name = "tint", type = "float32", values = [1, 2, 3, 4], align = 16 },
//     { name = "in", of = "in" },
//     { name = "w", type = "int32", value = "w" },
//     { name = "out", of = "out" },
//     { name = "h", type = "int16", value = "h" } ] },
//   { name = "in", type = "float32", shape = ["h", "w"], passed = false },
//   { name = "out", type = "float32", shape = ["h", "w"], output = true, passed = false },
// ]
// ///
struct P { bool on; float4 tint; const float* in; int w; float* out; short h; };
__global__ void affine(float4 v, P p) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= p.w || y >= p.h) return;
    p.out[y * p.w + x] = p.in[y * p.w + x] * v.x + v.w + p.tint.z + (p.on ? 0.5f : 0.f);
}
