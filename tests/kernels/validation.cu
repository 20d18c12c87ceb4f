// Validation kernels: small, self-checking CUDA kernels, most of them in pairs where the second one
// makes a single change, so that the time it gains is known from a measurement outside the profiler.
//
//   nvcc -arch=sm_90 -O3 -lineinfo --extended-lambda -o validation validation.cu
//   ./validation list                   labels and kernels, in launch order
//   ./validation verify [LABELS]        each kernel once, compared with a reference; exit 1 on a mismatch
//   ./validation time   [LABELS]        CSV label,kernel,ms,stddev: CUDA events, 20 launches after 3 warm-ups
//   ./validation once   [LABELS]        each kernel once, between cudaProfilerStart/Stop and in an NVTX range
//
// LABELS is a comma-separated list; without it, all. VALIDATION_DEADLINE_S=<seconds> makes `once` stop
// launching when that much time has gone, so that a profiler can still write its report.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_profiler_api.h>
#include <mma.h>
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#define CHECK(call)                                                                                  \
  do {                                                                                               \
    cudaError_t e_ = (call);                                                                         \
    if (e_ != cudaSuccess) {                                                                         \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_));   \
      std::exit(3);                                                                                  \
    }                                                                                                \
  } while (0)

typedef unsigned int u32;
typedef unsigned long long u64;

// ---------------------------------------------------------------------------------------------------
// Data: a hash gives every element, on the device and on the host alike.

__host__ __device__ constexpr u32 mix(u32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  x ^= x >> 16;
  return x;
}
__host__ __device__ constexpr float val(u32 i, u32 seed) {
  return (float)(mix(i ^ (seed * 0x9e3779b9u)) >> 8) * (2.0f / 16777216.0f) - 1.0f;
}
// A bijection on [0, 2^bits): a scrambled order in which every element occurs once.
__host__ __device__ inline u32 scramble(u32 i, int bits) {
  u32 mask = (bits == 32) ? 0xffffffffu : ((1u << bits) - 1);
  u32 x = i & mask;
  for (int r = 0; r < 3; ++r) {
    x = (x * 0x9e3779b1u + 0x7f4a7c15u) & mask;
    x ^= x >> (bits / 2);
  }
  return x & mask;
}
// A single cycle over [0, 2^bits), each step far from the last.
__host__ __device__ inline u32 hop(u32 i, int bits) { return (i * 1664525u + 1013904223u) & ((1u << bits) - 1); }

__global__ void setup_float(float* p, size_t n, u32 seed) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    p[i] = val((u32)i, seed);
}
__global__ void setup_double(double* p, size_t n, u32 seed) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    p[i] = val((u32)i, seed);
}
__global__ void setup_half(__half* p, size_t n, u32 seed) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    p[i] = __float2half(val((u32)i, seed));
}
template <class F>
__global__ void setup_u32(u32* p, size_t n, F f) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    p[i] = f((u32)i);
}

static std::vector<void*> g_allocations;
template <class T>
T* device(size_t n) {
  void* p = nullptr;
  CHECK(cudaMalloc(&p, n * sizeof(T)));
  CHECK(cudaMemset(p, 0xff, n * sizeof(T)));
  g_allocations.push_back(p);
  return (T*)p;
}
template <class T>
T* zeros(size_t n) {
  T* p = device<T>(n);
  CHECK(cudaMemset(p, 0, n * sizeof(T)));
  return p;
}
float* floats(size_t n, u32 seed) {
  float* p = device<float>(n);
  setup_float<<<1056, 256>>>(p, n, seed);
  return p;
}
template <class T>
T* upload(const std::vector<T>& v) {
  T* p = device<T>(v.size());
  CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <class T>
T at(const T* p, size_t i) {
  T v;
  CHECK(cudaMemcpy(&v, p + i, sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}
template <class T>
std::vector<T> download(const T* p, size_t n) {
  std::vector<T> v(n);
  CHECK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}
void release() {
  for (void* p : g_allocations) CHECK(cudaFree(p));
  g_allocations.clear();
}

bool near(double got, double want, double rtol, double atol = 1e-6) {
  bool ok = std::fabs(got - want) <= atol + rtol * std::fabs(want);
  if (!ok) std::printf("  got %.9g want %.9g\n", got, want);
  return ok;
}
// 48 places spread over [0, n), both ends included.
bool sampled(size_t n, const std::function<bool(size_t)>& f) {
  for (int s = 0; s < 48; ++s) {
    size_t i = s == 0 ? 0 : s == 1 ? n - 1 : (size_t)(mix(1234567u + s) % n);
    if (!f(i)) {
      std::printf("  at %zu\n", i);
      return false;
    }
  }
  return true;
}

struct Run {
  std::function<void()> launch;
  std::function<bool()> check;
};
struct Case {
  const char* label;
  const char* kernel;
  std::function<Run()> make;
};
static std::vector<Case> g_cases;
static void add(const char* label, const char* kernel, std::function<Run()> make) {
  g_cases.push_back({label, kernel, make});
}

// ---------------------------------------------------------------------------------------------------
// Transposition of an 8192 x 4096 matrix.

__global__ void transpose_direct(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[(size_t)x * h + y + j] = in[(size_t)(y + j) * w + x];
}
template <int PITCH>
__global__ void transpose_tile(const float* in, float* out, int w, int h) {
  __shared__ float tile[32][PITCH];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * w + x];
  __syncthreads();
  int ox = blockIdx.y * 32 + threadIdx.x, oy = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[(size_t)(oy + j) * h + ox] = tile[threadIdx.x][threadIdx.y + j];
}

// Particles as structures and as arrays.
struct Particle {
  float x, y, z, m, vx, vy, vz, q;
};
__global__ void advance_structs(Particle* p, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i].x += p[i].vx * dt;
}
__global__ void advance_arrays(float* x, const float* vx, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += vx[i] * dt;
}

// Row sums: a thread or a warp for each row. Column sums: a thread for each column, or pieces of columns.
__global__ void rowsum_thread(const float* a, float* out, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0;
  for (int c = 0; c < cols; ++c) s += a[(size_t)r * cols + c];
  out[r] = s;
}
__device__ inline float warp_sum(float v) {
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  return v;
}
__device__ inline float warp_max(float v) {
  for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
  return v;
}
__global__ void rowsum_warp(const float* a, float* out, int rows, int cols) {
  int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  float s = 0;
  for (int c = lane; c < cols; c += 32) s += a[(size_t)r * cols + c];
  s = warp_sum(s);
  if (lane == 0) out[r] = s;
}
__global__ void colsum(const float* a, float* out, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int per = rows / gridDim.y, r0 = blockIdx.y * per;
  float s = 0;
  for (int r = r0; r < r0 + per; ++r) s += a[(size_t)r * cols + c];
  atomicAdd(&out[c], s);
}

// Sums of 256 elements by one block, four ways.
__global__ void blocksum_modulo(const float* in, float* out) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = in[(size_t)blockIdx.x * 256 + t];
  __syncthreads();
#pragma unroll 1
  for (int step = 1; step < (int)blockDim.x; step *= 2) {
    if (t % (2 * step) == 0) s[t] += s[t + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void blocksum_strided(const float* in, float* out) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = in[(size_t)blockIdx.x * 256 + t];
  __syncthreads();
#pragma unroll 1
  for (int step = 1; step < (int)blockDim.x; step *= 2) {
    int k = 2 * step * t;
    if (k < (int)blockDim.x) s[k] += s[k + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void blocksum_sequential(const float* in, float* out) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = in[(size_t)blockIdx.x * 256 + t];
  __syncthreads();
#pragma unroll 1
  for (int step = blockDim.x / 2; step; step /= 2) {
    if (t < step) s[t] += s[t + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
// The same 256 elements by one warp, two float4 a lane, no shared memory.
__global__ void blocksum_shuffle(const float4* in, float* out) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  float4 a = in[(size_t)w * 64 + lane], b = in[(size_t)w * 64 + 32 + lane];
  float v = warp_sum(a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w);
  if (lane == 0) out[w] = v;
}

// Histograms of skewed keys, 16 bins.
__host__ __device__ inline u32 skewed(u32 i) {
  u32 h = mix(i + 77);
  return (h % 10 < 9) ? 3 : (h >> 20) % 16;
}
__global__ void bins_global(const u32* keys, u32* bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[keys[i]], 1u);
}
__global__ void bins_block(const u32* keys, u32* bins, int n) {
  __shared__ u32 s[16];
  if (threadIdx.x < 16) s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[keys[i]], 1u);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}
// Every thread counts for itself, in an array of its own that is indexed at run time ...
__global__ void bins_private_array(const u32* keys, u32* bins, int n) {
  u32 c[16];
  for (int k = 0; k < 16; ++k) c[k] = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[keys[i] & 15]++;
  for (int k = 0; k < 16; ++k) {
    u32 v = __reduce_add_sync(~0u, c[k]);
    if (threadIdx.x % 32 == 0) atomicAdd(&bins[k], v);
  }
}
// ... or in a column of shared memory of its own.
__global__ void bins_private_column(const u32* keys, u32* bins, int n) {
  __shared__ u32 c[16][256];
  for (int k = 0; k < 16; ++k) c[k][threadIdx.x] = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[keys[i] & 15][threadIdx.x]++;
  for (int k = 0; k < 16; ++k) {
    u32 v = __reduce_add_sync(~0u, c[k][threadIdx.x]);
    if (threadIdx.x % 32 == 0) atomicAdd(&bins[k], v);
  }
}

// Table look-up through an index array.
__global__ void lookup(const u32* idx, const float* table, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[idx[i]];
}

// 3x3 and 7-point stencils.
__global__ void stencil9(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= w - 1 || y >= h - 1) return;
  float s = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) s += in[(size_t)(y + dy) * w + x + dx] * (float)(1 + dx * dx + dy * dy);
  out[(size_t)y * w + x] = s;
}
// Eight outputs a thread down a column; rows slide through registers.
__global__ void stencil9_sliding(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y0 = (blockIdx.y * blockDim.y + threadIdx.y) * 8 + 1;
  if (x >= w - 1) return;
  float r[10][3];
#pragma unroll
  for (int k = 0; k < 10; ++k)
#pragma unroll
    for (int d = 0; d < 3; ++d) r[k][d] = (y0 - 1 + k < h) ? in[(size_t)(y0 - 1 + k) * w + x - 1 + d] : 0.0f;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    if (y0 + k >= h - 1) return;
    float s = 0;
#pragma unroll
    for (int dy = -1; dy <= 1; ++dy)
#pragma unroll
      for (int dx = -1; dx <= 1; ++dx) s += r[k + 1 + dy][dx + 1] * (float)(1 + dx * dx + dy * dy);
    out[(size_t)(y0 + k) * w + x] = s;
  }
}
__global__ void stencil7(const float* in, float* out, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
  size_t i = ((size_t)z * ny + y) * nx + x, p = (size_t)nx * ny;
  out[i] = 6.0f * in[i] - in[i - 1] - in[i + 1] - in[i - nx] - in[i + nx] - in[i - p] - in[i + p];
}

// Sparse matrix times vector, CSR.
__global__ void spmv_thread(const int* ptr, const int* col, const float* v, const float* x, float* y, int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0;
  for (int k = ptr[r]; k < ptr[r + 1]; ++k) s += v[k] * x[col[k]];
  y[r] = s;
}
__global__ void spmv_warp(const int* ptr, const int* col, const float* v, const float* x, float* y, int rows) {
  int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  float s = 0;
  for (int k = ptr[r] + lane; k < ptr[r + 1]; k += 32) s += v[k] * x[col[k]];
  s = warp_sum(s);
  if (lane == 0) y[r] = s;
}
// A warp for each piece of at most 256 elements of a row.
__global__ void spmv_pieces(const int4* piece, const int* col, const float* v, const float* x, float* y, int pieces) {
  int p = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (p >= pieces) return;
  int4 q = piece[p];
  float s = 0;
  for (int k = q.y + lane; k < q.z; k += 32) s += v[k] * x[col[k]];
  s = warp_sum(s);
  if (lane == 0) atomicAdd(&y[q.x], s);
}

// Softmax and layer norm of rows.
template <int BLOCK, class Op>
__device__ float block_reduce(float v, Op op) {
  __shared__ float s[BLOCK];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int o = BLOCK / 2; o; o >>= 1) {
    if (threadIdx.x < o) s[threadIdx.x] = op(s[threadIdx.x], s[threadIdx.x + o]);
    __syncthreads();
  }
  float r = s[0];
  __syncthreads();
  return r;
}
__global__ void softmax_three_pass(const float* in, float* out, int cols) {
  const float* row = in + (size_t)blockIdx.x * cols;
  float* o = out + (size_t)blockIdx.x * cols;
  float m = -INFINITY, s = 0;
  for (int c = threadIdx.x; c < cols; c += 256) m = fmaxf(m, row[c]);
  m = block_reduce<256>(m, [](float a, float b) { return fmaxf(a, b); });
  for (int c = threadIdx.x; c < cols; c += 256) s += __expf(row[c] - m);
  s = block_reduce<256>(s, [](float a, float b) { return a + b; });
  for (int c = threadIdx.x; c < cols; c += 256) o[c] = __expf(row[c] - m) / s;
}
// 4096 columns: four float4 a thread stay in registers.
__global__ void softmax_registers(const float4* in, float4* out) {
  __shared__ float part[8];
  float4 v[4];
  size_t base = (size_t)blockIdx.x * 1024 + threadIdx.x;
  int w = threadIdx.x / 32, lane = threadIdx.x % 32;
  float m = -INFINITY, s = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) v[k] = in[base + k * 256];
#pragma unroll
  for (int k = 0; k < 4; ++k) m = fmaxf(m, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
  m = warp_max(m);
  if (lane == 0) part[w] = m;
  __syncthreads();
  m = part[0];
  for (int k = 1; k < 8; ++k) m = fmaxf(m, part[k]);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    v[k] = make_float4(__expf(v[k].x - m), __expf(v[k].y - m), __expf(v[k].z - m), __expf(v[k].w - m));
    s += v[k].x + v[k].y + v[k].z + v[k].w;
  }
  s = warp_sum(s);
  if (lane == 0) part[w] = s;
  __syncthreads();
  s = 0;
  for (int k = 0; k < 8; ++k) s += part[k];
  float inv = 1.0f / s;
#pragma unroll
  for (int k = 0; k < 4; ++k) out[base + k * 256] = make_float4(v[k].x * inv, v[k].y * inv, v[k].z * inv, v[k].w * inv);
}
// Layer norm: a thread walks a row, or a warp holds it.
__global__ void layernorm_thread(const float* in, float* out, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = in + (size_t)r * cols;
  float s = 0, q = 0;
  for (int c = 0; c < cols; ++c) {
    s += row[c];
    q += row[c] * row[c];
  }
  float mean = s / cols, inv = rsqrtf(q / cols - mean * mean + 1e-5f);
  for (int c = 0; c < cols; ++c) out[(size_t)r * cols + c] = (row[c] - mean) * inv;
}
__global__ void layernorm_warp(const float4* in, float4* out, int rows) {  // 1024 columns
  int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  float4 v[8];
  float s = 0, q = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) v[k] = in[(size_t)r * 256 + k * 32 + lane];
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    s += v[k].x + v[k].y + v[k].z + v[k].w;
    q += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + v[k].w * v[k].w;
  }
  s = warp_sum(s);
  q = warp_sum(q);
  float mean = s / 1024, inv = rsqrtf(q / 1024 - mean * mean + 1e-5f);
#pragma unroll
  for (int k = 0; k < 8; ++k)
    out[(size_t)r * 256 + k * 32 + lane] =
        make_float4((v[k].x - mean) * inv, (v[k].y - mean) * inv, (v[k].z - mean) * inv, (v[k].w - mean) * inv);
}

// N bodies, the others read from global memory or through a shared tile.
__device__ inline void pull(float4 a, float4 b, float3& f) {
  float dx = b.x - a.x, dy = b.y - a.y, dz = b.z - a.z;
  float d = dx * dx + dy * dy + dz * dz + 0.01f;
  float inv = rsqrtf(d), k = b.w * inv * inv * inv;
  f.x += dx * k;
  f.y += dy * k;
  f.z += dz * k;
}
__global__ void nbody_direct(const float4* p, float4* f, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 a = p[i];
  float3 s = make_float3(0, 0, 0);
  for (int j = 0; j < m; ++j) pull(a, p[j], s);
  f[i] = make_float4(s.x, s.y, s.z, 0);
}
__global__ void nbody_tile(const float4* p, float4* f, int m) {
  __shared__ float4 t[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 a = p[i];
  float3 s = make_float3(0, 0, 0);
  for (int j0 = 0; j0 < m; j0 += 256) {
    t[threadIdx.x] = p[j0 + threadIdx.x];
    __syncthreads();
#pragma unroll 16
    for (int j = 0; j < 256; ++j) pull(a, t[j], s);
    __syncthreads();
  }
  f[i] = make_float4(s.x, s.y, s.z, 0);
}

// Inclusive scan of 1024 elements by a block.
__global__ void scan_steps(const float* in, float* out) {
  __shared__ float s[1024];
  int t = threadIdx.x;
  size_t i = (size_t)blockIdx.x * 1024 + t;
  s[t] = in[i];
  __syncthreads();
  for (int o = 1; o < 1024; o *= 2) {
    float v = t >= o ? s[t - o] : 0.0f;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  out[i] = s[t];
}
__global__ void scan_warps(const float* in, float* out) {
  __shared__ float s[32];
  int t = threadIdx.x, lane = t % 32, w = t / 32;
  size_t i = (size_t)blockIdx.x * 1024 + t;
  float v = in[i];
  for (int o = 1; o < 32; o *= 2) {
    float u = __shfl_up_sync(~0u, v, o);
    if (lane >= o) v += u;
  }
  if (lane == 31) s[w] = v;
  __syncthreads();
  if (w == 0) {
    float x = s[lane];
    for (int o = 1; o < 32; o *= 2) {
      float u = __shfl_up_sync(~0u, x, o);
      if (lane >= o) x += u;
    }
    s[lane] = x;
  }
  __syncthreads();
  out[i] = v + (w ? s[w - 1] : 0.0f);
}

// Bitonic sort: one step in global memory; 1024 elements by a block in shared memory.
__global__ void bitonic_step(float* a, int j, int k) {
  u32 t = blockIdx.x * blockDim.x + threadIdx.x;
  u32 i = (t / j) * 2 * j + t % j;
  float x = a[i], y = a[i + j];
  bool up = (i & k) == 0;
  if ((x > y) == up) {
    a[i] = y;
    a[i + j] = x;
  }
}
__global__ void bitonic_block(float* a) {
  __shared__ float s[1024];
  size_t base = (size_t)blockIdx.x * 1024;
  s[threadIdx.x] = a[base + threadIdx.x];
  s[threadIdx.x + 512] = a[base + threadIdx.x + 512];
  __syncthreads();
#pragma unroll 1
  for (int k = 2; k <= 1024; k *= 2)
#pragma unroll 1
    for (int j = k / 2; j; j /= 2) {
      int i = 2 * threadIdx.x - (threadIdx.x & (j - 1));
      float x = s[i], y = s[i + j];
      bool up = (i & k) == 0;
      if ((x > y) == up) {
        s[i] = y;
        s[i + j] = x;
      }
      __syncthreads();
    }
  a[base + threadIdx.x] = s[threadIdx.x];
  a[base + threadIdx.x + 512] = s[threadIdx.x + 512];
}

// Matrix products.
__global__ void __launch_bounds__(256) gemm_register_tile(const float* A, const float* B, float* C, int n) {
  __shared__ float a[8][128], b[8][128];
  int t = threadIdx.x, tx = t % 16, ty = t / 16;
  int row0 = blockIdx.y * 128, col0 = blockIdx.x * 128;
  float acc[8][8] = {};
  for (int k0 = 0; k0 < n; k0 += 8) {
    float4 va = *(const float4*)&A[(size_t)(row0 + t / 2) * n + k0 + (t % 2) * 4];
    a[(t % 2) * 4 + 0][t / 2] = va.x;
    a[(t % 2) * 4 + 1][t / 2] = va.y;
    a[(t % 2) * 4 + 2][t / 2] = va.z;
    a[(t % 2) * 4 + 3][t / 2] = va.w;
    *(float4*)&b[t / 32][(t % 32) * 4] = *(const float4*)&B[(size_t)(k0 + t / 32) * n + col0 + (t % 32) * 4];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      float ra[8], rb[8];
#pragma unroll
      for (int q = 0; q < 8; ++q) {
        ra[q] = a[k][(q / 4) * 64 + ty * 4 + q % 4];
        rb[q] = b[k][(q / 4) * 64 + tx * 4 + q % 4];
      }
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] += ra[i] * rb[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int q = 0; q < 2; ++q)
      *(float4*)&C[(size_t)(row0 + (i / 4) * 64 + ty * 4 + i % 4) * n + col0 + q * 64 + tx * 4] =
          make_float4(acc[i][q * 4], acc[i][q * 4 + 1], acc[i][q * 4 + 2], acc[i][q * 4 + 3]);
}
// 64x64 tile, 4x4 outputs a thread, two buffers filled by asynchronous copies.
__global__ void __launch_bounds__(256) gemm_async_copy(const float* A, const float* B, float* C, int n) {
  __shared__ __align__(16) float a[2][64][16], b[2][16][64];
  int t = threadIdx.x, tx = t % 16, ty = t / 16;
  int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  auto fetch = [&](int buf, int k0) {
    __pipeline_memcpy_async(&a[buf][t / 4][(t % 4) * 4], &A[(size_t)(row0 + t / 4) * n + k0 + (t % 4) * 4], 16);
    __pipeline_memcpy_async(&b[buf][t / 16][(t % 16) * 4], &B[(size_t)(k0 + t / 16) * n + col0 + (t % 16) * 4], 16);
    __pipeline_commit();
  };
  float acc[4][4] = {};
  fetch(0, 0);
  for (int k0 = 0, s = 0; k0 < n; k0 += 16, s ^= 1) {
    if (k0 + 16 < n) {
      fetch(s ^ 1, k0 + 16);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      float4 rb = *(float4*)&b[s][k][tx * 4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float ra = a[s][ty * 4 + i][k];
        acc[i][0] += ra * rb.x;
        acc[i][1] += ra * rb.y;
        acc[i][2] += ra * rb.z;
        acc[i][3] += ra * rb.w;
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    *(float4*)&C[(size_t)(row0 + ty * 4 + i) * n + col0 + tx * 4] =
        make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}
__global__ void dgemm_plain(const double* A, const double* B, double* C, int n) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  double s = 0;
  for (int k = 0; k < n; ++k) s += A[(size_t)y * n + k] * B[(size_t)k * n + x];
  C[(size_t)y * n + x] = s;
}
using namespace nvcuda;
__global__ void wmma_from_global(const __half* A, const __half* B, float* C, int n) {
  int w = threadIdx.x / 32, row = (blockIdx.y * 4 + w / 2) * 16, col = (blockIdx.x * 2 + w % 2) * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.0f);
  for (int k = 0; k < n; k += 16) {
    wmma::load_matrix_sync(a, A + (size_t)row * n + k, n);
    wmma::load_matrix_sync(b, B + (size_t)k * n + col, n);
    wmma::mma_sync(c, a, b, c);
  }
  wmma::store_matrix_sync(C + (size_t)row * n + col, c, n, wmma::mem_row_major);
}
// 128x128 tile through shared memory, 8 warps of 64x32.
__global__ void __launch_bounds__(256) wmma_shared_tile(const __half* A, const __half* B, float* C, int n) {
  __shared__ __align__(16) __half a[128][40], b[32][136];
  int t = threadIdx.x, w = t / 32, wr = (w / 4) * 64, wc = (w % 4) * 32;
  int row0 = blockIdx.y * 128, col0 = blockIdx.x * 128;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4][2];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j) wmma::fill_fragment(c[i][j], 0.0f);
  for (int k0 = 0; k0 < n; k0 += 32) {
    for (int q = t; q < 512; q += 256)
      *(float4*)&a[q / 4][(q % 4) * 8] = *(const float4*)&A[(size_t)(row0 + q / 4) * n + k0 + (q % 4) * 8];
    for (int q = t; q < 512; q += 256)
      *(float4*)&b[q / 16][(q % 16) * 8] = *(const float4*)&B[(size_t)(k0 + q / 16) * n + col0 + (q % 16) * 8];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa[4];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb[2];
#pragma unroll
      for (int i = 0; i < 4; ++i) wmma::load_matrix_sync(fa[i], &a[wr + i * 16][k], 40);
#pragma unroll
      for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(fb[j], &b[k][wc + j * 16], 136);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) wmma::mma_sync(c[i][j], fa[i], fb[j], c[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j)
      wmma::store_matrix_sync(C + (size_t)(row0 + wr + i * 16) * n + col0 + wc + j * 16, c[i][j], n,
                              wmma::mem_row_major);
}
// Matrix instructions only: eight accumulators a warp, operands stay in registers.
__global__ void wmma_registers(float* out, int iters) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4];
  wmma::fill_fragment(a, __float2half(0.5f));
  wmma::fill_fragment(b, __float2half(0.25f));
  for (int q = 0; q < 4; ++q) wmma::fill_fragment(c[q], (float)q);
  for (int i = 0; i < iters; ++i)
#pragma unroll
    for (int q = 0; q < 4; ++q) wmma::mma_sync(c[q], a, b, c[q]);
  float s = 0;
  for (int q = 0; q < 4; ++q) s += c[q].x[0];
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}

// Arithmetic loops.
__host__ __device__ inline u32 xorshift(u32 x) {
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return x;
}
__global__ void rounds_xorshift(u32* out, int iters) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x, x = i + 1, y = i + 0x1234567;
#pragma unroll 8
  for (int k = 0; k < iters; ++k) {
    x = xorshift(x);
    y = xorshift(y);
  }
  out[i] = x ^ y;
}
__global__ void rounds_lcg(u32* out, u32 m, u32 c, int iters) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x, x[4] = {i, i + 1, i + 2, i + 3};
#pragma unroll 8
  for (int k = 0; k < iters; ++k)
#pragma unroll
    for (int q = 0; q < 4; ++q) x[q] = x[q] * m + c;
  out[i] = x[0] ^ x[1] ^ x[2] ^ x[3];
}
__global__ void rounds_exp_log(float* out, int iters) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = val(i, 1), y = val(i, 2);
#pragma unroll 4
  for (int k = 0; k < iters; ++k) {
    x = __logf(1.0f + __expf(x)) - 0.8f;
    y = __logf(1.0f + __expf(y)) - 0.8f;
  }
  out[i] = x + y;
}
// Division and square root, IEEE ...
__global__ void rounds_div_sqrt(float* out, int iters) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = val(i, 1) + 2.0f, y = val(i, 2) + 2.0f;
#pragma unroll 4
  for (int k = 0; k < iters; ++k) {
    x = sqrtf(x) + 3.0f / (x + 1.0f);
    y = sqrtf(y) + 3.0f / (y + 1.0f);
  }
  out[i] = x + y;
}
// ... and approximate.
__global__ void rounds_div_sqrt_fast(float* out, int iters) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = val(i, 1) + 2.0f, y = val(i, 2) + 2.0f;
#pragma unroll 4
  for (int k = 0; k < iters; ++k) {
    float s, u;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(s) : "f"(x));
    asm("sqrt.approx.f32 %0, %1;" : "=f"(u) : "f"(y));
    x = s + __fdividef(3.0f, x + 1.0f);
    y = u + __fdividef(3.0f, y + 1.0f);
  }
  out[i] = x + y;
}
// A polynomial whose literals are doubles, and the same in single precision.
__global__ void poly_double_literals(float* out, int iters) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = val(i, 1), y = val(i, 2);
#pragma unroll 4
  for (int k = 0; k < iters; ++k) {
    x = ((0.11 * x + 0.21) * x + 0.31) * x - 0.3;
    y = ((0.11 * y + 0.21) * y + 0.31) * y - 0.3;
  }
  out[i] = x + y;
}
__global__ void poly_single_literals(float* out, int iters) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = val(i, 1), y = val(i, 2);
#pragma unroll 4
  for (int k = 0; k < iters; ++k) {
    x = ((0.11f * x + 0.21f) * x + 0.31f) * x - 0.3f;
    y = ((0.11f * y + 0.21f) * y + 0.31f) * y - 0.3f;
  }
  out[i] = x + y;
}

// Mandelbrot, 2048 x 2048; a pixel's place in the warp is scattered or tiled.
__host__ __device__ inline int escape(int px, int py, int limit) {
  float cx = px * (3.0f / 2048) - 2.0f, cy = py * (3.0f / 2048) - 1.5f, x = 0, y = 0;
  int k = 0;
  while (k < limit && x * x + y * y < 4.0f) {
    float t = fmaf(x, x, fmaf(-y, y, cx));
    y = fmaf(2.0f * x, y, cy);
    x = t;
    ++k;
  }
  return k;
}
__global__ void mandelbrot_scattered(int* out, int limit) {
  u32 p = scramble(blockIdx.x * blockDim.x + threadIdx.x, 22);
  out[blockIdx.x * blockDim.x + threadIdx.x] = escape(p % 2048, p / 2048, limit);
}
__global__ void mandelbrot_tiled(int* out, int limit) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x, w = i / 32, lane = i % 32;
  u32 px = (w % 256) * 8 + lane % 8, py = (w / 256) * 4 + lane / 8;
  out[i] = escape(px, py, limit);
}

// One of eight operations for each element, chosen by data; mixed in a warp, or the same for a warp.
template <int OP>
__host__ __device__ inline float operate(float x, int n) {
#pragma unroll 4
  for (int k = 0; k < n; ++k) x = fmaf(x, 0.5f + 0.01f * OP, 0.25f - 0.02f * OP) + (OP % 2 ? 0.125f * x : -0.0625f * x);
  return x;
}
__host__ __device__ inline float dispatch(u32 op, float x, int n) {
  switch (op) {
    case 0: return operate<0>(x, n);
    case 1: return operate<1>(x, n);
    case 2: return operate<2>(x, n);
    case 3: return operate<3>(x, n);
    case 4: return operate<4>(x, n);
    case 5: return operate<5>(x, n);
    case 6: return operate<6>(x, n);
    default: return operate<7>(x, n);
  }
}
__global__ void operations(const u32* op, const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = dispatch(op[i], in[i], n);
}

// 64 values live in a loop, with the registers of 8 blocks of 256 an SM or of 2.
template <int BLOCKS>
__global__ void __launch_bounds__(256, BLOCKS) wide_state(const float* in, float* out, float f, int iters) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v[64];
#pragma unroll
  for (int k = 0; k < 64; ++k) v[k] = in[k * 256 + threadIdx.x];
#pragma unroll 1
  for (int r = 0; r < iters; ++r)
#pragma unroll
    for (int k = 0; k < 64; ++k) v[k] = fmaf(v[k], f, v[(k + 7) % 64]);
  float s = 0;
#pragma unroll
  for (int k = 0; k < 64; ++k) s += v[k] * (k + 1);
  out[i] = s;
}
// A ring of 32 values for each thread, position known at run time or at compile time.
__global__ void ring_runtime(const float* in, float* out, const int* step, int iters) {
  float v[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 32; ++k) v[k] = in[k * 256 + threadIdx.x];
  int st = *step, p = 0;
#pragma unroll 1
  for (int r = 0; r < iters * 32; ++r) {
    int q = (p + st) & 31;
    v[p] = fmaf(v[p], 0.5f, v[q]);
    p = q;
  }
  float s = 0;
#pragma unroll
  for (int k = 0; k < 32; ++k) s += v[k];
  out[i] = s;
}
__global__ void ring_static(const float* in, float* out, int iters) {
  float v[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 32; ++k) v[k] = in[k * 256 + threadIdx.x];
#pragma unroll 1
  for (int r = 0; r < iters; ++r)
#pragma unroll
    for (int k = 0; k < 32; ++k) v[k] = fmaf(v[k], 0.5f, v[(k + 1) % 32]);
  float s = 0;
#pragma unroll
  for (int k = 0; k < 32; ++k) s += v[k];
  out[i] = s;
}

// Walks through a 128 MB cycle; a warp's lanes walk together.
__global__ void walk(const u32* next, u32* out, int steps, u32 spread) {
  u32 w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  u32 p = (w * spread) & ((1u << 25) - 1);
  for (int s = 0; s < steps; ++s) p = next[p];
  out[blockIdx.x * blockDim.x + threadIdx.x] = p;
}
// Four walks at once by each warp.
__global__ void walk_four(const u32* next, u32* out, int steps, u32 spread) {
  u32 w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, p[4];
  for (int q = 0; q < 4; ++q) p[q] = ((w * 4 + q) * spread) & ((1u << 25) - 1);
  for (int s = 0; s < steps; ++s)
#pragma unroll
    for (int q = 0; q < 4; ++q) p[q] = next[p[q]];
  out[blockIdx.x * blockDim.x + threadIdx.x] = p[0] ^ p[1] ^ p[2] ^ p[3];
}
// A walk that keeps K values alive in registers meanwhile.
template <int K>
__global__ void __launch_bounds__(128) walk_holding(const u32* next, const float* in, float* out, int steps) {
  float keep[K];
#pragma unroll
  for (int k = 0; k < K; ++k) keep[k] = ((const volatile float*)in)[k * 128 + threadIdx.x];
  u32 w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, p = (w * 15485863u) & ((1u << 25) - 1);
#pragma unroll 1
  for (int s = 0; s < steps; ++s) p = next[p];
  float s = (float)(p & 1023);
#pragma unroll
  for (int k = 0; k < K; ++k) s = fmaf(s, 0.5f, keep[k]);
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}

// The same number of multiply-adds in CHAINS independent chains.
template <int CHAINS>
__global__ void fma_chains(float* out, float f, float g, int total) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  float v[CHAINS];
#pragma unroll
  for (int q = 0; q < CHAINS; ++q) v[q] = val(i, q + 1);
#pragma unroll 1
  for (int k = 0; k < total / CHAINS; k += 32)
#pragma unroll
    for (int u = 0; u < 32; ++u)
#pragma unroll
      for (int q = 0; q < CHAINS; ++q) v[q] = fmaf(v[q], f, g);
  float s = 0;
#pragma unroll
  for (int q = 0; q < CHAINS; ++q) s += v[q];
  out[i] = s;
}

// A polynomial for each of n elements, over whatever grid there is.
__global__ void horner(const float* in, float* out, int n, int degree) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float x = in[i], s = 0;
    for (int k = 0; k < degree; ++k) s = fmaf(s, x, 0.5f);
    out[i] = s;
  }
}
__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
// A block does work[blockIdx.x] rounds.
__global__ void rounds_by_block(const int* work, float* out) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  float v[4] = {val(i, 1), val(i, 2), val(i, 3), val(i, 4)};
  int n = work[blockIdx.x];
  for (int k = 0; k < n; ++k)
#pragma unroll
    for (int q = 0; q < 4; ++q) v[q] = fmaf(v[q], 0.5f, 0.25f);
  out[i] = v[0] + v[1] + v[2] + v[3];
}
// The same for every block, with shared memory for one block an SM.
__global__ void rounds_one_block_per_sm(float* out, int n) {
  extern __shared__ float pad[];
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  pad[threadIdx.x] = val(i, 1);
  float v[4] = {pad[threadIdx.x], val(i, 2), val(i, 3), val(i, 4)};
  for (int k = 0; k < n; ++k)
#pragma unroll
    for (int q = 0; q < 4; ++q) v[q] = fmaf(v[q], 0.5f, 0.25f);
  out[i] = v[0] + v[1] + v[2] + v[3];
}

// Rounds of a small job for the block: one warp does it while the others wait, or all share it.
__global__ void leader_rounds(float* out, int rounds) {
  __shared__ float s[256];
  s[threadIdx.x] = val(blockIdx.x * 256 + threadIdx.x, 1);
  __syncthreads();
  float mine = 0;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (threadIdx.x < 32)
#pragma unroll 1
      for (int q = 0; q < 8; ++q) {
        float v = s[q * 32 + threadIdx.x];
        for (int k = 0; k < 8; ++k) v = fmaf(v, 0.5f, 0.125f);
        s[q * 32 + threadIdx.x] = v;
      }
    __syncthreads();
    mine += s[(threadIdx.x + r) & 255];
    __syncthreads();
  }
  out[blockIdx.x * 256 + threadIdx.x] = mine;
}
__global__ void shared_rounds(float* out, int rounds) {
  __shared__ float s[256];
  s[threadIdx.x] = val(blockIdx.x * 256 + threadIdx.x, 1);
  __syncthreads();
  float mine = 0;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    float v = s[threadIdx.x];
    for (int k = 0; k < 8; ++k) v = fmaf(v, 0.5f, 0.125f);
    s[threadIdx.x] = v;
    __syncthreads();
    mine += s[(threadIdx.x + r) & 255];
    __syncthreads();
  }
  out[blockIdx.x * 256 + threadIdx.x] = mine;
}

// 64 segments of 512 distinct multiply-adds: 512 KB of straight code, chosen at run time.
template <u32 S>
__host__ __device__ inline void segment(float (&v)[4], float w) {
#pragma unroll
  for (u32 k = 0; k < 512; ++k) v[k & 3] = fmaf(v[k & 3], 0.5f + (float)(mix(S * 512 + k) & 1023) * (1.0f / 4096), w);
}
#define SEG(n) case n: segment<n>(v, w); break;
#define SEG8(n) SEG(n) SEG(n + 1) SEG(n + 2) SEG(n + 3) SEG(n + 4) SEG(n + 5) SEG(n + 6) SEG(n + 7)
__global__ void long_code(float* out, float w, int rounds, u32 stride) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  float v[4] = {val(i, 1), val(i, 2), val(i, 3), val(i, 4)};
  u32 s = (i / 32) * stride;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r, s += stride) switch (s & 63) {
      SEG8(0) SEG8(8) SEG8(16) SEG8(24) SEG8(32) SEG8(40) SEG8(48) SEG8(56)
    }
  out[i] = v[0] + v[1] + v[2] + v[3];
}

// A table of 4096 floats: constant memory with a different index for each lane, or a copy in shared memory.
__constant__ float c_table[4096];
__host__ __device__ inline u32 next_index(u32 x) { return x * 1664525u + 1013904223u; }
__global__ void table_constant(float* out, int n) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x, x = mix(i);
  float s = 0;
  for (int k = 0; k < n; ++k) {
    x = next_index(x);
    s += c_table[x >> 20];
  }
  out[i] = s;
}
__global__ void table_shared(float* out, const float* table, int n) {
  __shared__ float t[4096];
  for (int k = threadIdx.x; k < 4096; k += blockDim.x) t[k] = table[k];
  __syncthreads();
  u32 i = blockIdx.x * blockDim.x + threadIdx.x, x = mix(i);
  float s = 0;
  for (int k = 0; k < n; ++k) {
    x = next_index(x);
    s += t[x >> 20];
  }
  out[i] = s;
}

// 20 MB read over and over, past L1.
__global__ void reread_past_l1(const float4* in, float* out, int n, int rounds) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int r = 0; r < rounds; ++r)
#pragma unroll 4
    for (u32 k = i; k < (u32)n; k += gridDim.x * blockDim.x) {
      float4 v = __ldcg(&in[k]);
      s += v.x + v.y + v.z + v.w;
    }
  out[i] = s;
}
// 16 KB read over and over, contiguous, through L1.
__global__ void reread_through_l1(const float* in, float* out, int rounds) {
  float s = 0, t = 0;
  for (int r = 0; r < rounds; ++r)
#pragma unroll 8
    for (int k = 0; k < 16; ++k) {
      float v = __ldg(&in[((k + r) & 15) * 256 + threadIdx.x]);
      s += v;
      t = fmaxf(t, v);
    }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s + t;
}

// Streams.
__global__ void stream_copy(const float* a, float* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i];
}
__global__ void stream_copy4(const float4* a, float4* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i];
}
__global__ void stream_fill4(float4* b, float v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = make_float4(v, v, v, v);
}
__global__ void stream_saxpy(const float* x, float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void stream_triad_double(const double* b, const double* c, double* a, double s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = b[i] + s * c[i];
}
__global__ void stream_sum4(const float4* a, float* out, int n) {
  float s = 0;
#pragma unroll 4
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float4 v = a[i];
    s += v.x + v.y + v.z + v.w;
  }
  s = warp_sum(s);
  if (threadIdx.x % 32 == 0) atomicAdd(out, s);
}
__global__ void stream_every_second(const float* a, float* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[2 * i];
}
// One block of 256 an SM; DEEP loads are under way before the first is used.
template <int DEEP>
__global__ void stream_few_blocks(const float* a, float* out, int n) {
  float s = 0;
  int i = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
#pragma unroll 1
  for (; i + (DEEP - 1) * step < n; i += DEEP * step) {
    float v[DEEP];
#pragma unroll
    for (int q = 0; q < DEEP; ++q) v[q] = a[i + q * step];
#pragma unroll
    for (int q = 0; q < DEEP; ++q) s += v[q];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
// A stream whose shared-memory detour has two-way conflicts that the memory hides.
__global__ void stream_detour(const float* a, float* b, int n) {
  __shared__ float s[2][512];
  int i = blockIdx.x * 256 + threadIdx.x, half = threadIdx.x / 128, t = threadIdx.x % 128;
  s[half][2 * t] = a[i] * 2.0f;
  __syncwarp();
  b[i] = s[half][2 * t];
}

// Atomics: to a place of one's own; the same as a plain addition.
__global__ void accumulate_atomic(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[i], in[i]);
}
__global__ void accumulate_plain(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += in[i];
}
// Append the elements above zero: a counter increment for each element, or one for the warp.
__global__ void append_each(const float* in, float* out, u32* counter, const u32* which, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) out[atomicAdd(&counter[which[i & 1023]], 1u)] = in[i];
}
__global__ void append_warp(const float* in, float* out, u32* counter, const u32* which, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool keep = i < n && in[i] > 0;
  u32 m = __ballot_sync(~0u, keep), lane = threadIdx.x % 32, base = 0;
  if (lane == 0) base = atomicAdd(&counter[which[i & 1023]], (u32)__popc(m));
  base = __shfl_sync(~0u, base, 0);
  if (keep) out[base + __popc(m & ((1u << lane) - 1))] = in[i];
}
// One counter in shared memory; the address is data, so that no compiler combines the lanes.
__global__ void count_shared(const u32* which, u32* out, int rounds) {
  __shared__ u32 c[32];
  if (threadIdx.x < 32) c[threadIdx.x] = 0;
  __syncthreads();
  u32 p = which[threadIdx.x];
  for (int r = 0; r < rounds; ++r) atomicAdd(&c[p], (u32)(threadIdx.x & 3));
  __syncthreads();
  if (threadIdx.x == 0) {
    u32 s = 0;
    for (int k = 0; k < 32; ++k) s += c[k];
    out[blockIdx.x] = s;
  }
}

// Each thread dots a row of a shared tile; rows at PITCH floats.
template <int PITCH>
__global__ void tile_rows(const float* in, float* out, int rounds) {
  __shared__ float t[32 * PITCH];
  for (int k = threadIdx.x; k < 32 * 32; k += blockDim.x) t[(k / 32) * PITCH + k % 32] = in[k];
  __syncthreads();
  int lane = threadIdx.x % 32;
  float s = 0;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int k = 0; k < 32; ++k) s = fmaf(s, 0.5f, ((volatile float*)t)[lane * PITCH + k]);
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
// 1-D convolution, 32 taps, from shared memory: one output a thread, or eight with a window in registers.
__global__ void convolve_one(const float* in, const float* taps, float* out) {
  __shared__ float x[2048 + 32], w[32];
  size_t base = (size_t)blockIdx.x * 2048;
  for (int k = threadIdx.x; k < 2048 + 32; k += 256) x[k] = in[base + k];
  if (threadIdx.x < 32) w[threadIdx.x] = taps[threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (int o = threadIdx.x; o < 2048; o += 256) {
    float s = 0;
#pragma unroll
    for (int k = 0; k < 32; ++k) s = fmaf(x[o + k], ((volatile float*)w)[k], s);
    out[base + o] = s;
  }
}
__global__ void convolve_eight(const float* in, const float* taps, float* out) {
  __shared__ float x[2048 + 32], w[32];
  size_t base = (size_t)blockIdx.x * 2048;
  for (int k = threadIdx.x; k < 2048 + 32; k += 256) x[k] = in[base + k];
  if (threadIdx.x < 32) w[threadIdx.x] = taps[threadIdx.x];
  __syncthreads();
  float s[8] = {};
#pragma unroll
  for (int k = 0; k < 32; ++k) {
    float c = ((volatile float*)w)[k];
#pragma unroll
    for (int q = 0; q < 8; ++q) s[q] = fmaf(x[threadIdx.x + q * 256 + k], c, s[q]);
  }
#pragma unroll
  for (int q = 0; q < 8; ++q) out[base + threadIdx.x + q * 256] = s[q];
}
// Sums over a warp, again and again.
__global__ void shuffle_rounds(float* out, int rounds) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = val(i, 1), w = val(i, 2);
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    v = warp_sum(v) * 0.03125f;
    w = warp_sum(w) * 0.03125f;
  }
  out[i] = v + w;
}

// Written as 16 loads a round; no store stands between them, so the assembler lifts them out of the loop (SASS:
// 16 LDG before it) and additions of registers are left.
__global__ void reread_l1(const float* in, float* out, int rounds) {
  const float* p = in + threadIdx.x;
  float s[4] = {};
#pragma unroll 1
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      float v;
      asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(v) : "l"(p + k * 256));
      s[k & 3] += v;
    }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[0] + s[1] + s[2] + s[3];
}
// Remainders by a run-time number, and by a mask.
__global__ void rounds_remainder(u32* out, u32 n, int iters) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x, x = i, y = i + 12345;
#pragma unroll 4
  for (int k = 0; k < iters; ++k) {
    x = (x * 3 + k) % n;
    y = (y * 3 + k) % n;
  }
  out[i] = x ^ y;
}
__global__ void rounds_mask(u32* out, u32 n, int iters) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x, x = i, y = i + 12345;
#pragma unroll 4
  for (int k = 0; k < iters; ++k) {
    x = (x * 3 + k) & (n - 1);
    y = (y * 3 + k) & (n - 1);
  }
  out[i] = x ^ y;
}
// Stores through an index array.
__global__ void deposit(const u32* idx, const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[idx[i]] = in[i];
}
// One element in eight needs much work: left where it is, or the work packed into whole warps.
__host__ __device__ inline float much_work(float x) {
  for (int k = 0; k < 256; ++k) x = fmaf(x, 0.5f, 0.25f) * fmaf(x, 0.25f, 0.75f);
  return x;
}
__global__ void every_eighth(const float* in, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
  if (i % 8 == 0) x = much_work(x);
  out[i] = x;
}
__global__ void eighths_packed(const float* in, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  if (i < n / 8) out[i * 8] = much_work(in[i * 8]);
  if (i % 8 != 0) out[i] = in[i];
}
// One thread does it all.
__global__ void serial_sum(const float* in, float* out, int n) {
  float s = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k) s += in[k];
  out[0] = s;
}

// ---------------------------------------------------------------------------------------------------
// The cases, in launch order.

static const int BLOCK = 256;
static int blocks(size_t n, int b = BLOCK) { return (int)((n + b - 1) / b); }

static Run transpose_case(int kind) {
  int w = 8192, h = 4096;
  float *in = floats((size_t)w * h, 1), *out = device<float>((size_t)w * h);
  return {[=] {
            dim3 g(w / 32, h / 32), b(32, 8);
            if (kind == 0) transpose_direct<<<g, b>>>(in, out, w, h);
            if (kind == 1) transpose_tile<32><<<g, b>>>(in, out, w, h);
            if (kind == 2) transpose_tile<33><<<g, b>>>(in, out, w, h);
          },
          [=] {
            return sampled((size_t)w * h, [=](size_t i) {
              size_t x = i / h, y = i % h;
              return near(at(out, i), val((u32)(y * w + x), 1), 0);
            });
          }};
}
static Run rows_case(bool warp) {
  int rows = 65536, cols = 1024;
  float *in = floats((size_t)rows * cols, 1), *out = device<float>(rows);
  return {[=] {
            if (warp)
              rowsum_warp<<<rows / 8, 256>>>(in, out, rows, cols);
            else
              rowsum_thread<<<rows / 256, 256>>>(in, out, rows, cols);
          },
          [=] {
            return sampled(rows, [=](size_t r) {
              double s = 0;
              for (int c = 0; c < cols; ++c) s += val((u32)(r * cols + c), 1);
              return near(at(out, r), s, 1e-4, 1e-3);
            });
          }};
}
static Run cols_case(int pieces) {
  int rows = 4096, cols = 16384;
  float *in = floats((size_t)rows * cols, 1), *out = zeros<float>(cols);
  return {[=] { colsum<<<dim3(cols / 256, pieces), 256>>>(in, out, rows, cols); },
          [=] {
            return sampled(cols, [=](size_t c) {
              double s = 0;
              for (int r = 0; r < rows; ++r) s += val((u32)((size_t)r * cols + c), 1);
              return near(at(out, c), s, 1e-3, 1e-2);
            });
          }};
}
static Run blocksum_case(int kind) {
  size_t n = 1u << 25;
  float *in = floats(n, 1), *out = device<float>(n / 256);
  return {[=] {
            int g = (int)(n / 256);
            if (kind == 0) blocksum_modulo<<<g, 256>>>(in, out);
            if (kind == 1) blocksum_strided<<<g, 256>>>(in, out);
            if (kind == 2) blocksum_sequential<<<g, 256>>>(in, out);
            if (kind == 3) blocksum_shuffle<<<g / 8, 256>>>((const float4*)in, out);
          },
          [=] {
            return sampled(n / 256, [=](size_t b) {
              double s = 0;
              for (int k = 0; k < 256; ++k) s += val((u32)(b * 256 + k), 1);
              return near(at(out, b), s, 1e-4, 1e-4);
            });
          }};
}
static Run bins_case(int kind) {
  int n = kind == 0 ? 1 << 23 : 1 << 24;
  u32 *keys = device<u32>(n), *bins = zeros<u32>(16);
  setup_u32<<<1056, 256>>>(keys, n, [] __device__(u32 i) { return skewed(i); });
  return {[=] {
            if (kind == 0) bins_global<<<1056, 256>>>(keys, bins, n);
            if (kind == 1) bins_block<<<1056, 256>>>(keys, bins, n);
            if (kind == 2) bins_private_array<<<1056, 256>>>(keys, bins, n);
            if (kind == 3) bins_private_column<<<1056, 256>>>(keys, bins, n);
          },
          [=] {
            std::vector<u32> want(16, 0), got = download(bins, 16);
            for (int i = 0; i < n; ++i) want[skewed(i)]++;
            return got == want;
          }};
}
static Run lookup_case(bool scattered) {
  int n = 1 << 25;
  u32* idx = device<u32>(n);
  if (scattered)
    setup_u32<<<1056, 256>>>(idx, n, [] __device__(u32 i) { return scramble(i, 25); });
  else
    setup_u32<<<1056, 256>>>(idx, n, [] __device__(u32 i) { return i; });
  float *table = floats(n, 1), *out = device<float>(n);
  return {[=] { lookup<<<blocks(n), BLOCK>>>(idx, table, out, n); },
          [=] {
            return sampled(n, [=](size_t i) {
              return near(at(out, i), val(scattered ? scramble((u32)i, 25) : (u32)i, 1), 0);
            });
          }};
}
static Run stencil9_case(bool sliding) {
  int w = 8192, h = 4096;
  float *in = floats((size_t)w * h, 1), *out = zeros<float>((size_t)w * h);
  return {[=] {
            if (sliding)
              stencil9_sliding<<<dim3(w / 128, h / 16), dim3(128, 2)>>>(in, out, w, h);
            else
              stencil9<<<dim3(w / 32, h / 8), dim3(32, 8)>>>(in, out, w, h);
          },
          [=] {
            return sampled((size_t)w * h, [=](size_t i) {
              int x = (int)(i % w), y = (int)(i / w);
              if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return true;
              double s = 0;
              for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx) s += val((u32)((y + dy) * w + x + dx), 1) * (1 + dx * dx + dy * dy);
              return near(at(out, i), s, 1e-4, 1e-4);
            });
          }};
}
static Run stencil7_case(int bx, int by) {
  int n = 320;
  size_t all = (size_t)n * n * n;
  float *in = floats(all, 1), *out = zeros<float>(all);
  return {[=] { stencil7<<<dim3((n + bx - 1) / bx, (n + by - 1) / by, n), dim3(bx, by)>>>(in, out, n, n, n); },
          [=] {
            return sampled(all, [=](size_t i) {
              int x = i % n, y = (i / n) % n, z = (int)(i / ((size_t)n * n));
              if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1) return true;
              auto f = [=](size_t k) { return (double)val((u32)k, 1); };
              size_t p = (size_t)n * n;
              return near(at(out, i), 6 * f(i) - f(i - 1) - f(i + 1) - f(i - n) - f(i + n) - f(i - p) - f(i + p), 1e-4, 1e-4);
            });
          }};
}
static Run spmv_case(bool skew, int kind) {
  int rows = skew ? 1 << 18 : 1 << 19;
  std::vector<int> ptr(rows + 1, 0);
  std::vector<int4> piece;
  for (int r = 0; r < rows; ++r) {
    int len = 64;
    if (skew) {
      double u = (mix(r + 99) >> 8) / 16777216.0 + 1e-6;
      len = (int)std::fmin(20000.0, 12.0 / std::pow(u, 0.75));
      if (r == 100000) len = 131072;
    }
    ptr[r + 1] = ptr[r] + len;
    for (int k = ptr[r]; k < ptr[r + 1]; k += 256) {
      int4 q;
      q.x = r, q.y = k, q.z = k + 256 < ptr[r + 1] ? k + 256 : ptr[r + 1], q.w = 0;
      piece.push_back(q);
    }
  }
  size_t nnz = ptr[rows];
  std::vector<int> col(nnz);
  for (int r = 0; r < rows; ++r)
    for (int k = ptr[r]; k < ptr[r + 1]; ++k) col[k] = (int)((r + (k - ptr[r])) % rows);
  int *dptr = upload(ptr), *dcol = upload(col);
  int4* dpiece = upload(piece);
  float *v = floats(nnz, 1), *x = floats(rows, 2), *y = zeros<float>(rows);
  int pieces = (int)piece.size();
  return {[=] {
            if (kind == 0) spmv_thread<<<rows / 256, 256>>>(dptr, dcol, v, x, y, rows);
            if (kind == 1) spmv_warp<<<rows / 8, 256>>>(dptr, dcol, v, x, y, rows);
            if (kind == 2) spmv_pieces<<<blocks(pieces, 8), 256>>>(dpiece, dcol, v, x, y, pieces);
          },
          [=] {
            return sampled(rows, [=](size_t r) {
              double s = 0;
              for (int k = ptr[r]; k < ptr[r + 1]; ++k) s += (double)val((u32)k, 1) * val((u32)col[k], 2);
              return near(at(y, r), s, 1e-3, 1e-3);
            });
          }};
}
static Run softmax_case(bool registers) {
  int rows = 8192, cols = 4096;
  float *in = floats((size_t)rows * cols, 1), *out = device<float>((size_t)rows * cols);
  return {[=] {
            if (registers)
              softmax_registers<<<rows, 256>>>((const float4*)in, (float4*)out);
            else
              softmax_three_pass<<<rows, 256>>>(in, out, cols);
          },
          [=] {
            return sampled((size_t)rows * cols, [=](size_t i) {
              size_t r = i / cols;
              double s = 0;
              for (int c = 0; c < cols; ++c) s += std::exp((double)val((u32)(r * cols + c), 1));
              return near(at(out, i), std::exp((double)val((u32)i, 1)) / s, 1e-4, 1e-9);
            });
          }};
}
static Run layernorm_case(bool warp) {
  int rows = 32768, cols = 1024;
  float *in = floats((size_t)rows * cols, 1), *out = device<float>((size_t)rows * cols);
  return {[=] {
            if (warp)
              layernorm_warp<<<rows / 8, 256>>>((const float4*)in, (float4*)out, rows);
            else
              layernorm_thread<<<rows / 128, 128>>>(in, out, rows, cols);
          },
          [=] {
            return sampled((size_t)rows * cols, [=](size_t i) {
              size_t r = i / cols;
              double s = 0, q = 0;
              for (int c = 0; c < cols; ++c) {
                double f = val((u32)(r * cols + c), 1);
                s += f, q += f * f;
              }
              double m = s / cols;
              return near(at(out, i), (val((u32)i, 1) - m) / std::sqrt(q / cols - m * m + 1e-5), 1e-3, 1e-3);
            });
          }};
}
static Run nbody_case(bool tile) {
  int n = 132 * 1024, m = 4096;
  float* p = floats((size_t)n * 4, 1);
  float4* f = device<float4>(n);
  return {[=] {
            if (tile)
              nbody_tile<<<n / 256, 256>>>((const float4*)p, f, m);
            else
              nbody_direct<<<n / 256, 256>>>((const float4*)p, f, m);
          },
          [=] {
            return sampled(n, [=](size_t i) {
              double s = 0;
              for (int j = 0; j < m; ++j) {
                double dx = val(j * 4, 1) - val((u32)i * 4, 1), dy = val(j * 4 + 1, 1) - val((u32)i * 4 + 1, 1),
                       dz = val(j * 4 + 2, 1) - val((u32)i * 4 + 2, 1);
                s += dx * val(j * 4 + 3, 1) / std::pow(dx * dx + dy * dy + dz * dz + 0.01, 1.5);
              }
              return near(at(f, i).x, s, 1e-3, 2e-2);
            });
          }};
}
static Run scan_case(bool warps) {
  size_t n = 1u << 25;
  float *in = floats(n, 1), *out = device<float>(n);
  return {[=] {
            if (warps)
              scan_warps<<<(int)(n / 1024), 1024>>>(in, out);
            else
              scan_steps<<<(int)(n / 1024), 1024>>>(in, out);
          },
          [=] {
            return sampled(n, [=](size_t i) {
              double s = 0;
              for (size_t k = i / 1024 * 1024; k <= i; ++k) s += val((u32)k, 1);
              return near(at(out, i), s, 1e-4, 1e-4);
            });
          }};
}
static Run gemm_case(bool async) {
  int n = 2048;
  float *A = floats((size_t)n * n, 1), *B = floats((size_t)n * n, 2), *C = device<float>((size_t)n * n);
  return {[=] {
            if (async)
              gemm_async_copy<<<dim3(n / 64, n / 64), 256>>>(A, B, C, n);
            else
              gemm_register_tile<<<dim3(n / 128, n / 128), 256>>>(A, B, C, n);
          },
          [=] {
            return sampled((size_t)n * n, [=](size_t i) {
              double s = 0;
              for (int k = 0; k < n; ++k) s += (double)val((u32)(i / n * n + k), 1) * val((u32)(k * n + i % n), 2);
              return near(at(C, i), s, 1e-3, 1e-3);
            });
          }};
}
static Run wmma_case(bool tile) {
  int n = 2048;
  __half *A = device<__half>((size_t)n * n), *B = device<__half>((size_t)n * n);
  setup_half<<<1056, 256>>>(A, (size_t)n * n, 1);
  setup_half<<<1056, 256>>>(B, (size_t)n * n, 2);
  float* C = device<float>((size_t)n * n);
  return {[=] {
            if (tile)
              wmma_shared_tile<<<dim3(n / 128, n / 128), 256>>>(A, B, C, n);
            else
              wmma_from_global<<<dim3(n / 32, n / 64), 256>>>(A, B, C, n);
          },
          [=] {
            return sampled((size_t)n * n, [=](size_t i) {
              double s = 0;
              for (int k = 0; k < n; ++k)
                s += (double)__half2float(__float2half(val((u32)(i / n * n + k), 1))) *
                     __half2float(__float2half(val((u32)(k * n + i % n), 2)));
              return near(at(C, i), s, 1e-3, 1e-2);
            });
          }};
}
template <class K, class F>
static Run float_rounds(K kernel, F reference, int grid, double tol) {
  float* out = device<float>((size_t)grid * 256);
  return {[=] { kernel(out, grid); },
          [=] {
            return sampled((size_t)grid * 256, [=](size_t i) { return near(at(out, i), reference((u32)i), tol, tol); });
          }};
}
static Run walk_case(int grid, int block, int steps, bool four) {
  u32 *next = device<u32>(1u << 25), *out = device<u32>((size_t)grid * block);
  setup_u32<<<1056, 256>>>(next, 1u << 25, [] __device__(u32 i) { return hop(i, 25); });
  const u32 spread = 15485863u;
  return {[=] {
            if (four)
              walk_four<<<grid, block>>>(next, out, steps, spread);
            else
              walk<<<grid, block>>>(next, out, steps, spread);
          },
          [=] {
            return sampled((size_t)grid * block, [=](size_t i) {
              u32 r = 0, w = (u32)(i / 32);
              for (u32 q = 0; q < (four ? 4u : 1u); ++q) {
                u32 p = ((four ? w * 4 + q : w) * spread) & ((1u << 25) - 1);
                for (int s = 0; s < steps; ++s) p = hop(p, 25);
                r ^= p;
              }
              return at(out, i) == r;
            });
          }};
}
template <int K>
static Run holding_case() {
  int grid = 132 * 16, steps = 96;
  u32* next = device<u32>(1u << 25);
  setup_u32<<<1056, 256>>>(next, 1u << 25, [] __device__(u32 i) { return hop(i, 25); });
  float *in = floats(K * 128, 1), *out = device<float>((size_t)grid * 128);
  return {[=] { walk_holding<K><<<grid, 128>>>(next, in, out, steps); },
          [=] {
            return sampled((size_t)grid * 128, [=](size_t i) {
              u32 p = ((u32)(i / 32) * 15485863u) & ((1u << 25) - 1);
              for (int s = 0; s < steps; ++s) p = hop(p, 25);
              float s = (float)(p & 1023);
              for (int k = 0; k < K; ++k) s = fmaf(s, 0.5f, val(k * 128 + i % 128, 1));
              return near(at(out, i), s, 1e-5);
            });
          }};
}
template <int CHAINS>
static Run chains_case(int grid, int block, int total) {
  float* out = device<float>((size_t)grid * block);
  return {[=] { fma_chains<CHAINS><<<grid, block>>>(out, 0.999f, 0.001f, total); },
          [=] {
            return sampled((size_t)grid * block, [=](size_t i) {
              float s = 0;
              for (int q = 0; q < CHAINS; ++q) {
                float v = val((u32)i, q + 1);
                for (int k = 0; k < total / CHAINS; ++k) v = fmaf(v, 0.999f, 0.001f);
                s += v;
              }
              return near(at(out, i), s, 1e-5);
            });
          }};
}
static Run horner_case(int grid, int n, int degree) {
  float *in = floats(n, 1), *out = device<float>(n);
  return {[=] { horner<<<grid, 256>>>(in, out, n, degree); },
          [=] {
            return sampled(n, [=](size_t i) {
              float x = val((u32)i, 1), s = 0;
              for (int k = 0; k < degree; ++k) s = fmaf(s, x, 0.5f);
              return near(at(out, i), s, 1e-5);
            });
          }};
}
static Run add_case(int grid) {
  int n = grid * 256;
  float *a = floats(n, 1), *b = floats(n, 2), *c = device<float>(n);
  return {[=] { vector_add<<<grid, 256>>>(a, b, c, n); },
          [=] {
            return sampled(n, [=](size_t i) { return near(at(c, i), val((u32)i, 1) + val((u32)i, 2), 1e-6); });
          }};
}
static float settle(u32 i, int n) {
  float s = 0;
  for (int q = 1; q <= 4; ++q) {
    float v = val(i, q);
    for (int k = 0; k < n; ++k) v = fmaf(v, 0.5f, 0.25f);
    s += v;
  }
  return s;
}
static Run work_case(std::vector<int> work) {
  int* d = upload(work);
  float* out = device<float>(work.size() * 256);
  int grid = (int)work.size();
  return {[=] { rounds_by_block<<<grid, 256>>>(d, out); },
          [=] {
            return sampled(work.size() * 256, [=](size_t i) {
              return near(at(out, i), settle((u32)i, work[i / 256] > 200 ? 200 : work[i / 256]), 1e-5);
            });
          }};
}
static Run tail_case(int grid, int n) {
  float* out = device<float>((size_t)grid * 256);
  CHECK(cudaFuncSetAttribute(rounds_one_block_per_sm, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024));
  return {[=] { rounds_one_block_per_sm<<<grid, 256, 200 * 1024>>>(out, n); },
          [=] { return sampled((size_t)grid * 256, [=](size_t i) { return near(at(out, i), settle((u32)i, 200), 1e-5); }); }};
}
static Run leader_case(bool all) {
  int grid = 132 * 8, rounds = 512;
  float* out = device<float>((size_t)grid * 256);
  return {[=] {
            if (all)
              shared_rounds<<<grid, 256>>>(out, rounds);
            else
              leader_rounds<<<grid, 256>>>(out, rounds);
          },
          [=] {
            return sampled(grid, [=](size_t b) {
              std::vector<float> s(256), m(256, 0.0f);
              for (int t = 0; t < 256; ++t) s[t] = val((u32)b * 256 + t, 1);
              for (int r = 0; r < rounds; ++r) {
                for (int t = 0; t < 256; ++t)
                  for (int k = 0; k < 8; ++k) s[t] = fmaf(s[t], 0.5f, 0.125f);
                for (int t = 0; t < 256; ++t) m[t] += s[(t + r) & 255];
              }
              return near(at(out, b * 256 + 17), m[17], 1e-4);
            });
          }};
}
static Run code_case(u32 stride) {
  int grid = 132 * 8, rounds = 32;
  float* out = device<float>((size_t)grid * 256);
  return {[=] { long_code<<<grid, 256>>>(out, 0.001f, rounds, stride); },
          [=] {
            return sampled((size_t)grid * 256, [=](size_t i) {
              float v[4] = {val((u32)i, 1), val((u32)i, 2), val((u32)i, 3), val((u32)i, 4)};
              u32 s = (u32)(i / 32) * stride;
              for (int r = 0; r < rounds; ++r, s += stride)
                for (u32 k = 0; k < 512; ++k)
                  v[k & 3] = fmaf(v[k & 3], 0.5f + (float)(mix((s & 63) * 512 + k) & 1023) * (1.0f / 4096), 0.001f);
              return near(at(out, i), v[0] + v[1] + v[2] + v[3], 1e-4, 1e-6);
            });
          }};
}
static Run table_case(bool shared) {
  int grid = 132 * 16, n = 128;
  float *t = floats(4096, 1), *out = device<float>((size_t)grid * 256);
  CHECK(cudaMemcpyToSymbol(c_table, t, 4096 * sizeof(float), 0, cudaMemcpyDeviceToDevice));
  return {[=] {
            if (shared)
              table_shared<<<grid, 256>>>(out, t, n);
            else
              table_constant<<<grid, 256>>>(out, n);
          },
          [=] {
            return sampled((size_t)grid * 256, [=](size_t i) {
              u32 x = mix((u32)i);
              float s = 0;
              for (int k = 0; k < n; ++k) {
                x = next_index(x);
                s += val(x >> 20, 1);
              }
              return near(at(out, i), s, 1e-4, 1e-4);
            });
          }};
}
static Run operations_case(bool same) {
  int n = 1 << 22, rounds = 256;
  u32* op = device<u32>(n);
  if (same)
    setup_u32<<<1056, 256>>>(op, n, [] __device__(u32 i) { return mix(i / 32) & 7; });
  else
    setup_u32<<<1056, 256>>>(op, n, [] __device__(u32 i) { return mix(i) & 7; });
  float *in = floats(n, 1), *out = device<float>(n);
  return {[=] { operations<<<n / 256, 256>>>(op, in, out, rounds); },
          [=] {
            return sampled(n, [=](size_t i) {
              return near(at(out, i), dispatch(mix(same ? (u32)i / 32 : (u32)i) & 7, val((u32)i, 1), rounds), 1e-3, 1e-4);
            });
          }};
}
template <int BLOCKS>
static Run wide_case() {
  int grid = 132 * 8, iters = 64;
  float *in = floats(64 * 256, 1), *out = device<float>((size_t)grid * 256);
  return {[=] { wide_state<BLOCKS><<<grid, 256>>>(in, out, 0.3f, iters); },
          [=] {
            return sampled((size_t)grid * 256, [=](size_t i) {
              std::vector<float> v(64);
              for (int k = 0; k < 64; ++k) v[k] = val(k * 256 + i % 256, 1);
              for (int r = 0; r < iters; ++r)
                for (int k = 0; k < 64; ++k) v[k] = fmaf(v[k], 0.3f, v[(k + 7) % 64]);
              double s = 0, m = 0;
              for (int k = 0; k < 64; ++k) s += (double)v[k] * (k + 1), m += std::fabs((double)v[k] * (k + 1));
              return near(at(out, i), s, 1e-3, 1e-4 * m);
            });
          }};
}
static Run ring_case(bool fixed) {
  int grid = 132 * 8, iters = 32;
  float *in = floats(32 * 256, 1), *out = device<float>((size_t)grid * 256);
  int* step = upload(std::vector<int>{1});
  return {[=] {
            if (fixed)
              ring_static<<<grid, 256>>>(in, out, iters);
            else
              ring_runtime<<<grid, 256>>>(in, out, step, iters);
          },
          [=] {
            return sampled((size_t)grid * 256, [=](size_t i) {
              std::vector<float> v(32);
              for (int k = 0; k < 32; ++k) v[k] = val(k * 256 + i % 256, 1);
              for (int r = 0; r < iters; ++r)
                for (int k = 0; k < 32; ++k) v[k] = fmaf(v[k], 0.5f, v[(k + 1) % 32]);
              double s = 0, m = 0;
              for (int k = 0; k < 32; ++k) s += v[k], m += std::fabs(v[k]);
              return near(at(out, i), s, 1e-3, 1e-4 * m);
            });
          }};
}
static Run stream_case(const char* kind) {
  int n = 1 << 26;
  std::string k = kind;
  if (k == "sum4") {
    float *a = floats(n, 1), *o = zeros<float>(1);
    return {[=] { stream_sum4<<<132 * 8, 256>>>((const float4*)a, o, n / 4); },
            [=] {
              double s = 0;
              for (int i = 0; i < n; ++i) s += val((u32)i, 1);
              return near(at(o, 0), s, 1e-2, 50.0);
            }};
  }
  if (k == "triad") {
    int m = n / 4;
    double *a = device<double>(m), *b = device<double>(m), *c = device<double>(m);
    setup_double<<<1056, 256>>>(b, m, 1);
    setup_double<<<1056, 256>>>(c, m, 2);
    return {[=] { stream_triad_double<<<m / 256, 256>>>(b, c, a, 3.0, m); },
            [=] {
              return sampled(m, [=](size_t i) { return near(at(a, i), val((u32)i, 1) + 3.0 * val((u32)i, 2), 1e-9); });
            }};
  }
  if (k == "saxpy") {
    int m = n / 2;
    float *x = floats(m, 1), *y = floats(m, 2);
    return {[=] { stream_saxpy<<<m / 256, 256>>>(x, y, 3.0f, m); },
            [=] {
              return sampled(m, [=](size_t i) { return near(at(y, i), 3.0f * val((u32)i, 1) + val((u32)i, 2), 1e-5); });
            }};
  }
  if (k == "second") {
    int m = n / 2;
    float *a = floats(n, 1), *b = device<float>(m);
    return {[=] { stream_every_second<<<m / 256, 256>>>(a, b, m); },
            [=] { return sampled(m, [=](size_t i) { return near(at(b, i), val((u32)i * 2, 1), 0); }); }};
  }
  if (k == "few1" || k == "few16") {
    float *a = floats(n, 1), *o = device<float>(132 * 256);
    bool deep = k == "few16";
    int used = n / (132 * 256 * 16) * (132 * 256 * 16);
    return {[=] {
              if (deep)
                stream_few_blocks<16><<<132, 256>>>(a, o, used);
              else
                stream_few_blocks<1><<<132, 256>>>(a, o, used);
            },
            [=] {
              return sampled(132 * 256, [=](size_t i) {
                double s = 0;
                for (int j = (int)i; j < used; j += 132 * 256) s += val((u32)j, 1);
                return near(at(o, i), s, 1e-3, 1e-2);
              });
            }};
  }
  int m = k == "copy-half" ? n / 2 : n;
  bool shifted = k == "shifted", scalar = k == "copy" || k == "copy-half" || shifted, fill = k == "fill4";
  float *a = fill ? nullptr : floats((size_t)m + 4, 1), *b = device<float>((size_t)m + 4);
  return {[=] {
            if (k == "copy32")
              stream_copy<<<m / 32, 32>>>(a, b, m);
            else if (scalar)
              stream_copy<<<m / 256, 256>>>(a + (shifted ? 1 : 0), b, m);
            else if (fill)
              stream_fill4<<<m / 1024, 256>>>((float4*)b, 0.75f, m / 4);
            else if (k == "detour")
              stream_detour<<<m / 256, 256>>>(a, b, m);
            else
              stream_copy4<<<m / 1024, 256>>>((const float4*)a, (float4*)b, m / 4);
          },
          [=] {
            return sampled(m, [=](size_t i) {
              float w = fill ? 0.75f : val((u32)i + (shifted ? 1 : 0), 1) * (k == "detour" ? 2.0f : 1.0f);
              return near(at(b, i), w, 0);
            });
          }};
}
static Run accumulate_case(bool atomic) {
  int n = 1 << 25;
  float *in = floats(n, 1), *out = zeros<float>(n);
  return {[=] {
            if (atomic)
              accumulate_atomic<<<n / 256, 256>>>(out, in, n);
            else
              accumulate_plain<<<n / 256, 256>>>(out, in, n);
          },
          [=] { return sampled(n, [=](size_t i) { return near(at(out, i), val((u32)i, 1), 0); }); }};
}
static Run append_case(bool warp) {
  int n = 1 << 22;
  float *in = floats(n, 1), *out = zeros<float>((size_t)n * 16);
  u32 *counter = zeros<u32>(1), *which = zeros<u32>(1024);
  return {[=] {
            CHECK(cudaMemsetAsync(counter, 0, 4));
            if (warp)
              append_warp<<<n / 256, 256>>>(in, out, counter, which, n);
            else
              append_each<<<n / 256, 256>>>(in, out, counter, which, n);
          },
          [=] {
            u32 c = 0;
            double s = 0, t = 0;
            for (int i = 0; i < n; ++i)
              if (val(i, 1) > 0) ++c, s += val(i, 1);
            std::vector<float> got = download(out, c);
            for (float f : got) t += f;
            return at(counter, 0) == c && near(t, s, 1e-6);
          }};
}
static Run count_case(bool own) {
  int grid = 132 * 4, rounds = 256;
  std::vector<u32> w(256);
  for (int t = 0; t < 256; ++t) w[t] = own ? t % 32 : 0;
  u32 *which = upload(w), *out = device<u32>(grid);
  return {[=] { count_shared<<<grid, 256>>>(which, out, rounds); },
          [=] { return sampled(grid, [=](size_t b) { return at(out, b) == (u32)(rounds * 384); }); }};
}
template <int PITCH>
static Run tile_rows_case() {
  int grid = 132 * 8, rounds = 64;
  float *in = floats(1024, 1), *out = device<float>((size_t)grid * 256);
  return {[=] { tile_rows<PITCH><<<grid, 256>>>(in, out, rounds); },
          [=] {
            return sampled((size_t)grid * 256, [=](size_t i) {
              float s = 0;
              for (int r = 0; r < rounds; ++r)
                for (int k = 0; k < 32; ++k) s = fmaf(s, 0.5f, val((i % 32) * 32 + k, 1));
              return near(at(out, i), s, 1e-5);
            });
          }};
}
static Run convolve_case(bool eight) {
  int grid = 8192;
  float *in = floats((size_t)grid * 2048 + 32, 1), *taps = floats(32, 2), *out = device<float>((size_t)grid * 2048);
  return {[=] {
            if (eight)
              convolve_eight<<<grid, 256>>>(in, taps, out);
            else
              convolve_one<<<grid, 256>>>(in, taps, out);
          },
          [=] {
            return sampled((size_t)grid * 2048, [=](size_t i) {
              double s = 0;
              for (int k = 0; k < 32; ++k) s += (double)val((u32)i + k, 1) * val(k, 2);
              return near(at(out, i), s, 1e-4, 1e-4);
            });
          }};
}
static Run particles_case(bool arrays) {
  int n = 1 << 23;
  if (arrays) {
    float *x = floats(n, 1), *vx = floats(n, 2);
    return {[=] { advance_arrays<<<n / 256, 256>>>(x, vx, 0.5f, n); },
            [=] {
              return sampled(n, [=](size_t i) { return near(at(x, i), val((u32)i, 1) + 0.5f * val((u32)i, 2), 1e-6); });
            }};
  }
  float* p = floats((size_t)n * 8, 1);
  return {[=] { advance_structs<<<n / 256, 256>>>((Particle*)p, 0.5f, n); },
          [=] {
            return sampled(n, [=](size_t i) {
              return near(at(p, i * 8), val((u32)i * 8, 1) + 0.5f * val((u32)i * 8 + 4, 1), 1e-6);
            });
          }};
}

static void register_cases() {
  const int G = 132 * 8;  // eight blocks of 256 an SM
  add("transpose-direct", "transpose_direct", [] { return transpose_case(0); });
  add("transpose-tile-32", "transpose_tile<32>", [] { return transpose_case(1); });
  add("transpose-tile-33", "transpose_tile<33>", [] { return transpose_case(2); });
  add("particles-structs", "advance_structs", [] { return particles_case(false); });
  add("particles-arrays", "advance_arrays", [] { return particles_case(true); });
  add("rowsum-thread", "rowsum_thread", [] { return rows_case(false); });
  add("rowsum-warp", "rowsum_warp", [] { return rows_case(true); });
  add("colsum-whole", "colsum", [] { return cols_case(1); });
  add("colsum-pieces", "colsum", [] { return cols_case(32); });
  add("blocksum-modulo", "blocksum_modulo", [] { return blocksum_case(0); });
  add("blocksum-strided", "blocksum_strided", [] { return blocksum_case(1); });
  add("blocksum-sequential", "blocksum_sequential", [] { return blocksum_case(2); });
  add("blocksum-shuffle", "blocksum_shuffle", [] { return blocksum_case(3); });
  add("bins-global", "bins_global", [] { return bins_case(0); });
  add("bins-block", "bins_block", [] { return bins_case(1); });
  add("bins-array", "bins_private_array", [] { return bins_case(2); });
  add("bins-column", "bins_private_column", [] { return bins_case(3); });
  add("lookup-scattered", "lookup", [] { return lookup_case(true); });
  add("lookup-ordered", "lookup", [] { return lookup_case(false); });
  add("stencil9", "stencil9", [] { return stencil9_case(false); });
  add("stencil9-sliding", "stencil9_sliding", [] { return stencil9_case(true); });
  add("stencil7-rows", "stencil7", [] { return stencil7_case(64, 4); });
  add("stencil7-columns", "stencil7", [] { return stencil7_case(4, 64); });
  add("spmv-thread", "spmv_thread", [] { return spmv_case(false, 0); });
  add("spmv-warp", "spmv_warp", [] { return spmv_case(false, 1); });
  add("spmv-skewed-thread", "spmv_thread", [] { return spmv_case(true, 0); });
  add("spmv-skewed-warp", "spmv_warp", [] { return spmv_case(true, 1); });
  add("spmv-skewed-pieces", "spmv_pieces", [] { return spmv_case(true, 2); });
  add("softmax-three-pass", "softmax_three_pass", [] { return softmax_case(false); });
  add("softmax-registers", "softmax_registers", [] { return softmax_case(true); });
  add("layernorm-thread", "layernorm_thread", [] { return layernorm_case(false); });
  add("layernorm-warp", "layernorm_warp", [] { return layernorm_case(true); });
  add("nbody-direct", "nbody_direct", [] { return nbody_case(false); });
  add("nbody-tile", "nbody_tile", [] { return nbody_case(true); });
  add("scan-steps", "scan_steps", [] { return scan_case(false); });
  add("scan-warps", "scan_warps", [] { return scan_case(true); });
  add("bitonic-step", "bitonic_step", [] {
    int n = 1 << 26, j = 1 << 12, k = 1 << 13;
    float* a = floats(n, 1);
    return Run{[=] { bitonic_step<<<n / 512, 256>>>(a, j, k); },
               [=] {
                 return sampled(n, [=](size_t i) {
                   size_t lo = i & ~(size_t)j;
                   float x = val((u32)lo, 1), y = val((u32)(lo + j), 1);
                   bool up = (lo & k) == 0, first = lo == i;
                   return near(at(a, i), (first == up) ? std::fmin(x, y) : std::fmax(x, y), 0);
                 });
               }};
  });
  add("bitonic-block", "bitonic_block", [] {
    int n = 1 << 22;
    float* a = floats(n, 1);
    return Run{[=] { bitonic_block<<<n / 1024, 512>>>(a); },
               [=] {
                 std::vector<float> v = download(a, n);
                 double s = 0, t = 0;
                 for (int i = 0; i < n; ++i) {
                   if (i % 1024 && v[i - 1] > v[i]) return false;
                   s += v[i], t += val(i, 1);
                 }
                 return near(s, t, 1e-9, 1e-6);
               }};
  });
  add("gemm-register-tile", "gemm_register_tile", [] { return gemm_case(false); });
  add("gemm-async-copy", "gemm_async_copy", [] { return gemm_case(true); });
  add("dgemm-plain", "dgemm_plain", [] {
    int n = 1024;
    double *A = device<double>((size_t)n * n), *B = device<double>((size_t)n * n), *C = device<double>((size_t)n * n);
    setup_double<<<1056, 256>>>(A, (size_t)n * n, 1);
    setup_double<<<1056, 256>>>(B, (size_t)n * n, 2);
    return Run{[=] { dgemm_plain<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(A, B, C, n); },
               [=] {
                 return sampled((size_t)n * n, [=](size_t i) {
                   double s = 0;
                   for (int k = 0; k < n; ++k) s += (double)val((u32)(i / n * n + k), 1) * val((u32)(k * n + i % n), 2);
                   return near(at(C, i), s, 1e-9, 1e-9);
                 });
               }};
  });
  add("wmma-from-global", "wmma_from_global", [] { return wmma_case(false); });
  add("wmma-shared-tile", "wmma_shared_tile", [] { return wmma_case(true); });
  add("wmma-registers", "wmma_registers", [] {
    const int iters = 2048;
    return float_rounds([=](float* o, int g) { wmma_registers<<<g, 256>>>(o, iters); },
                        [=](u32) { return 4 * 2.0f * iters + 6.0f; }, 132 * 4, 1e-6);
  });
  add("xorshift", "rounds_xorshift", [G] {
    u32* out = device<u32>((size_t)G * 256);
    return Run{[=] { rounds_xorshift<<<G, 256>>>(out, 1024); },
               [=] {
                 return sampled((size_t)G * 256, [=](size_t i) {
                   u32 x = (u32)i + 1, y = (u32)i + 0x1234567;
                   for (int k = 0; k < 1024; ++k) x = xorshift(x), y = xorshift(y);
                   return at(out, i) == (x ^ y);
                 });
               }};
  });
  add("lcg", "rounds_lcg", [G] {
    u32* out = device<u32>((size_t)G * 256);
    return Run{[=] { rounds_lcg<<<G, 256>>>(out, 1664525u, 1013904223u, 2048); },
               [=] {
                 return sampled((size_t)G * 256, [=](size_t i) {
                   u32 r = 0;
                   for (u32 q = 0; q < 4; ++q) {
                     u32 x = (u32)i + q;
                     for (int k = 0; k < 2048; ++k) x = x * 1664525u + 1013904223u;
                     r ^= x;
                   }
                   return at(out, i) == r;
                 });
               }};
  });
  add("exp-log", "rounds_exp_log", [G] {
    return float_rounds([](float* o, int g) { rounds_exp_log<<<g, 256>>>(o, 256); },
                        [](u32 i) {
                          double x = val(i, 1), y = val(i, 2);
                          for (int k = 0; k < 256; ++k) x = std::log(1 + std::exp(x)) - 0.8, y = std::log(1 + std::exp(y)) - 0.8;
                          return x + y;
                        },
                        G, 1e-3);
  });
  auto divsqrt = [](u32 i) {
    double x = val(i, 1) + 2.0, y = val(i, 2) + 2.0;
    for (int k = 0; k < 256; ++k) x = std::sqrt(x) + 3 / (x + 1), y = std::sqrt(y) + 3 / (y + 1);
    return x + y;
  };
  add("div-sqrt", "rounds_div_sqrt", [G, divsqrt] {
    return float_rounds([](float* o, int g) { rounds_div_sqrt<<<g, 256>>>(o, 256); }, divsqrt, G, 1e-3);
  });
  add("div-sqrt-fast", "rounds_div_sqrt_fast", [G, divsqrt] {
    return float_rounds([](float* o, int g) { rounds_div_sqrt_fast<<<g, 256>>>(o, 256); }, divsqrt, G, 1e-3);
  });
  auto poly = [](u32 i) {
    double x = val(i, 1), y = val(i, 2);
    for (int k = 0; k < 512; ++k) x = ((0.11 * x + 0.21) * x + 0.31) * x - 0.3, y = ((0.11 * y + 0.21) * y + 0.31) * y - 0.3;
    return x + y;
  };
  add("poly-double", "poly_double_literals", [G, poly] {
    return float_rounds([](float* o, int g) { poly_double_literals<<<g, 256>>>(o, 512); }, poly, G, 1e-4);
  });
  add("poly-single", "poly_single_literals", [G, poly] {
    return float_rounds([](float* o, int g) { poly_single_literals<<<g, 256>>>(o, 512); }, poly, G, 1e-4);
  });
  for (int tiled = 0; tiled < 2; ++tiled)
    add(tiled ? "mandelbrot-tiled" : "mandelbrot-scattered", tiled ? "mandelbrot_tiled" : "mandelbrot_scattered", [tiled] {
      int n = 2048 * 2048, limit = 512;
      int* out = device<int>(n);
      return Run{[=] {
                   if (tiled)
                     mandelbrot_tiled<<<n / 256, 256>>>(out, limit);
                   else
                     mandelbrot_scattered<<<n / 256, 256>>>(out, limit);
                 },
                 [=] {
                   int bad = 0;  // rounding decides a few pixels at the border
                   sampled(n, [&](size_t i) {
                     u32 p = scramble((u32)i, 22), w = (u32)i / 32, lane = i % 32;
                     int px = tiled ? (w % 256) * 8 + lane % 8 : p % 2048, py = tiled ? (w / 256) * 4 + lane / 8 : p / 2048;
                     bad += at(out, i) != escape(px, py, limit);
                     return true;
                   });
                   return bad <= 4;
                 }};
    });
  add("operations-mixed", "operations", [] { return operations_case(false); });
  add("operations-by-warp", "operations", [] { return operations_case(true); });
  add("wide-state-8", "wide_state<8>", [] { return wide_case<8>(); });
  add("wide-state-2", "wide_state<2>", [] { return wide_case<2>(); });
  add("ring-runtime", "ring_runtime", [] { return ring_case(false); });
  add("ring-static", "ring_static", [] { return ring_case(true); });
  add("walk-one-warp", "walk", [] { return walk_case(132, 32, 512, false); });
  add("walk-many-warps", "walk", [] { return walk_case(132 * 8, 256, 512, false); });
  add("walk-four", "walk_four", [] { return walk_case(132, 32, 512, true); });
  add("holding-200", "walk_holding<200>", [] { return holding_case<200>(); });
  add("holding-8", "walk_holding<8>", [] { return holding_case<8>(); });
  add("chains-1", "fma_chains<1>", [] { return chains_case<1>(132, 128, 65536); });
  add("chains-8", "fma_chains<8>", [] { return chains_case<8>(132, 128, 65536); });
  add("add-1-block", "vector_add", [] { return add_case(1); });
  add("add-20-blocks", "vector_add", [] { return add_case(20); });
  add("horner-20-blocks", "horner", [] { return horner_case(20, 1056 * 256, 1024); });
  add("horner-1056-blocks", "horner", [] { return horner_case(1056, 1056 * 256, 1024); });
  add("tail-133", "rounds_one_block_per_sm", [] { return tail_case(133, 32768); });
  add("tail-132", "rounds_one_block_per_sm", [] { return tail_case(132, 32768); });
  add("work-one-long", "rounds_by_block", [] {
    std::vector<int> w(132 * 8, 2000);
    w[17] = 100000;
    return work_case(w);
  });
  add("work-even", "rounds_by_block", [] { return work_case(std::vector<int>(132 * 8, 2093)); });
  add("leader-rounds", "leader_rounds", [] { return leader_case(false); });
  add("shared-rounds", "shared_rounds", [] { return leader_case(true); });
  add("long-code", "long_code", [] { return code_case(7); });
  add("short-code", "long_code", [] { return code_case(0); });
  add("table-constant", "table_constant", [] { return table_case(false); });
  add("table-shared", "table_shared", [] { return table_case(true); });
  add("reread-past-l1", "reread_past_l1", [] {
    int n = 20 * 1024 * 1024 / 16, rounds = 64;
    float *in = floats((size_t)n * 4, 1), *out = device<float>(132 * 4 * 512);
    return Run{[=] { reread_past_l1<<<132 * 4, 512>>>((const float4*)in, out, n, rounds); },
               [=] {
                 double got = 0, want = 0;
                 for (float f : download(out, 132 * 4 * 512)) got += f;
                 for (int i = 0; i < n * 4; ++i) want += val((u32)i, 1);
                 return near(got, want * rounds, 1e-3, 1.0);
               }};
  });
  add("reread-through-l1", "reread_through_l1", [G] {
    float *in = floats(16 * 256, 1), *out = device<float>((size_t)G * 256);
    return Run{[=] { reread_through_l1<<<G, 256>>>(in, out, 128); },
               [=] {
                 return sampled((size_t)G * 256, [=](size_t i) {
                   double s = 0, t = 0;
                   for (int k = 0; k < 16; ++k) {
                     double v = val(k * 256 + i % 256, 1);
                     s += v, t = std::fmax(t, v);
                   }
                   return near(at(out, i), s * 128 + t, 1e-3, 1e-2);
                 });
               }};
  });
  add("copy", "stream_copy", [] { return stream_case("copy"); });
  add("copy-block-32", "stream_copy", [] { return stream_case("copy32"); });
  add("copy4", "stream_copy4", [] { return stream_case("copy4"); });
  add("copy-shifted", "stream_copy", [] { return stream_case("shifted"); });
  add("copy-every-second", "stream_every_second", [] { return stream_case("second"); });
  add("copy-half", "stream_copy", [] { return stream_case("copy-half"); });
  add("fill4", "stream_fill4", [] { return stream_case("fill4"); });
  add("saxpy", "stream_saxpy", [] { return stream_case("saxpy"); });
  add("triad-double", "stream_triad_double", [] { return stream_case("triad"); });
  add("sum4", "stream_sum4", [] { return stream_case("sum4"); });
  add("few-blocks-1", "stream_few_blocks<1>", [] { return stream_case("few1"); });
  add("few-blocks-16", "stream_few_blocks<16>", [] { return stream_case("few16"); });
  add("detour", "stream_detour", [] { return stream_case("detour"); });
  add("accumulate-atomic", "accumulate_atomic", [] { return accumulate_case(true); });
  add("accumulate-plain", "accumulate_plain", [] { return accumulate_case(false); });
  add("append-each", "append_each", [] { return append_case(false); });
  add("append-warp", "append_warp", [] { return append_case(true); });
  add("count-shared-one", "count_shared", [] { return count_case(false); });
  add("count-shared-32", "count_shared", [] { return count_case(true); });
  add("tile-rows-32", "tile_rows<32>", [] { return tile_rows_case<32>(); });
  add("tile-rows-33", "tile_rows<33>", [] { return tile_rows_case<33>(); });
  add("convolve-one", "convolve_one", [] { return convolve_case(false); });
  add("convolve-eight", "convolve_eight", [] { return convolve_case(true); });
  add("shuffle-rounds", "shuffle_rounds", [G] {
    return float_rounds([](float* o, int g) { shuffle_rounds<<<g, 256>>>(o, 256); },
                        [](u32 i) {
                          double s = 0;
                          for (u32 l = 0; l < 32; ++l) s += val(i / 32 * 32 + l, 1) + val(i / 32 * 32 + l, 2);
                          return s / 32;
                        },
                        G, 1e-3);
  });
  add("reread-l1", "reread_l1", [G] {
    float *in = floats(16 * 256, 1), *out = device<float>((size_t)G * 256);
    return Run{[=] { reread_l1<<<G, 256>>>(in, out, 256); },
               [=] {
                 return sampled((size_t)G * 256, [=](size_t i) {
                   double s = 0;
                   for (int k = 0; k < 16; ++k) s += val(k * 256 + i % 256, 1);
                   return near(at(out, i), s * 256, 1e-3, 1e-1);
                 });
               }};
  });
  for (int mask = 0; mask < 2; ++mask)
    add(mask ? "mask" : "remainder", mask ? "rounds_mask" : "rounds_remainder", [G, mask] {
      u32* out = device<u32>((size_t)G * 256);
      return Run{[=] {
                   if (mask)
                     rounds_mask<<<G, 256>>>(out, 1u << 20, 256);
                   else
                     rounds_remainder<<<G, 256>>>(out, 1u << 20, 256);
                 },
                 [=] {
                   return sampled((size_t)G * 256, [=](size_t i) {
                     u32 x = (u32)i, y = (u32)i + 12345;
                     for (u32 k = 0; k < 256; ++k) x = (x * 3 + k) % (1u << 20), y = (y * 3 + k) % (1u << 20);
                     return at(out, i) == (x ^ y);
                   });
                 }};
    });
  for (int ordered = 0; ordered < 2; ++ordered)
    add(ordered ? "deposit-ordered" : "deposit-scattered", "deposit", [ordered] {
      int n = 1 << 25;
      u32* idx = device<u32>(n);
      if (ordered)
        setup_u32<<<1056, 256>>>(idx, n, [] __device__(u32 i) { return i; });
      else
        setup_u32<<<1056, 256>>>(idx, n, [] __device__(u32 i) { return scramble(i, 25); });
      float *in = floats(n, 1), *out = device<float>(n);
      return Run{[=] { deposit<<<n / 256, 256>>>(idx, in, out, n); },
                 [=] {
                   return sampled(n, [=](size_t i) {
                     return near(at(out, ordered ? i : scramble((u32)i, 25)), val((u32)i, 1), 0);
                   });
                 }};
    });
  // 4 MB of table fit L2 but not L1: a look-up is scattered all the same.
  add("lookup-small-table", "lookup", [] {
    int n = 1 << 24;
    u32* idx = device<u32>(n);
    setup_u32<<<1056, 256>>>(idx, n, [] __device__(u32 i) { return scramble(i, 24) & 0xfffff; });
    float *table = floats(1 << 20, 1), *out = device<float>(n);
    return Run{[=] { lookup<<<n / 256, 256>>>(idx, table, out, n); },
               [=] {
                 return sampled(n, [=](size_t i) { return near(at(out, i), val(scramble((u32)i, 24) & 0xfffff, 1), 0); });
               }};
  });
  for (int packed = 0; packed < 2; ++packed)
    add(packed ? "eighths-packed" : "every-eighth", packed ? "eighths_packed" : "every_eighth", [packed] {
      int n = 1 << 23;
      float *in = floats(n, 1), *out = device<float>(n);
      return Run{[=] {
                   if (packed)
                     eighths_packed<<<n / 256, 256>>>(in, out);
                   else
                     every_eighth<<<n / 256, 256>>>(in, out);
                 },
                 [=] {
                   return sampled(n, [=](size_t i) {
                     float x = val((u32)i, 1);
                     return near(at(out, i), i % 8 ? x : much_work(x), 1e-4);
                   });
                 }};
    });
  add("work-quarter", "rounds_by_block", [] {
    std::vector<int> w(132 * 8);
    for (int b = 0; b < 132 * 8; ++b) w[b] = b % 132 < 33 ? 6500 : 624;
    return work_case(w);
  });
  add("wide-state-4", "wide_state<4>", [] { return wide_case<4>(); });
  for (int wide = 0; wide < 2; ++wide)
    add(wide ? "saxpy-blocks-of-256" : "saxpy-blocks-of-1", "stream_saxpy", [wide] {
      int n = 1 << 20;
      float *x = floats(n, 1), *y = floats(n, 2);
      return Run{[=] {
                   if (wide)
                     stream_saxpy<<<n / 256, 256>>>(x, y, 3.0f, n);
                   else
                     stream_saxpy<<<n, 1>>>(x, y, 3.0f, n);
                 },
                 [=] {
                   return sampled(n, [=](size_t i) { return near(at(y, i), 3.0f * val((u32)i, 1) + val((u32)i, 2), 1e-5); });
                 }};
    });
  add("serial-sum", "serial_sum", [] {
    int n = 1 << 13;
    float *in = floats(n, 1), *out = device<float>(1);
    return Run{[=] { serial_sum<<<1, 1>>>(in, out, n); },
               [=] {
                 double s = 0;
                 for (int i = 0; i < n; ++i) s += val(i, 1);
                 return near(at(out, 0), s, 1e-3, 1e-2);
               }};
  });
}

int main(int argc, char** argv) {
  register_cases();
  std::string mode = argc > 1 ? argv[1] : "verify", only = argc > 2 ? std::string(",") + argv[2] + "," : "";
  const char* limit = std::getenv("VALIDATION_DEADLINE_S");
  auto start = std::chrono::steady_clock::now();
  int failed = 0;
  if (mode == "fail") return 7;
  if (mode == "time") std::printf("label,kernel,ms,stddev\n");
  for (const Case& c : g_cases) {
    if (!only.empty() && only.find("," + std::string(c.label) + ",") == std::string::npos) continue;
    if (mode == "list") {
      std::printf("%s,%s\n", c.label, c.kernel);
      continue;
    }
    double gone = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (limit && gone > std::atof(limit)) {
      std::printf("stopped before %s: %.1f s gone\n", c.label, gone);
      break;
    }
    Run run = c.make();
    CHECK(cudaDeviceSynchronize());
    if (mode == "once") {
      std::printf("launch %s\n", c.label);
      std::fflush(stdout);
      nvtxRangePushA(c.label);
      CHECK(cudaProfilerStart());
      run.launch();
      CHECK(cudaGetLastError());
      CHECK(cudaDeviceSynchronize());
      CHECK(cudaProfilerStop());
      nvtxRangePop();
    } else if (mode == "verify") {
      run.launch();
      CHECK(cudaGetLastError());
      CHECK(cudaDeviceSynchronize());
      bool ok = run.check();
      std::printf("%s %s\n", ok ? "ok  " : "FAIL", c.label);
      failed += !ok;
    } else if (mode == "time") {
      cudaEvent_t a, b;
      CHECK(cudaEventCreate(&a));
      CHECK(cudaEventCreate(&b));
      for (int k = 0; k < 3; ++k) run.launch();
      CHECK(cudaDeviceSynchronize());
      std::vector<double> t;
      for (int k = 0; k < 20; ++k) {
        CHECK(cudaEventRecord(a));
        run.launch();
        CHECK(cudaEventRecord(b));
        CHECK(cudaEventSynchronize(b));
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, a, b));
        t.push_back(ms);
      }
      CHECK(cudaGetLastError());
      double m = 0, q = 0;
      for (double v : t) m += v / t.size();
      for (double v : t) q += (v - m) * (v - m) / (t.size() - 1);
      std::printf("%s,\"%s\",%.6f,%.6f\n", c.label, c.kernel, m, std::sqrt(q));
      CHECK(cudaEventDestroy(a));
      CHECK(cudaEventDestroy(b));
    } else {
      std::fprintf(stderr, "usage: validation list|verify|time|once|fail [LABEL,...]\n");
      return 2;
    }
    std::fflush(stdout);
    release();
  }
  if (failed) std::printf("%d FAIL\n", failed);
  return failed ? 1 : 0;
}
