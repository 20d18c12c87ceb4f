/* Loaded into every CUDA program that runs with CUDA_INJECTION64_PATH: the driver calls
 * InitializeInjection when it is initialized. Activity records of CUPTI go into a file of their
 * process. Whatever fails here, the program runs on as it would have. */
#define _GNU_SOURCE
#include "records.h"

#include <cupti.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 19, SPARE_BUFFERS = 16, STAGED = 512, FLUSH_MS = 100, MOST_CALLS = 2048 };

/* Older structures are the beginning of newer ones: these are read from any later version. */
#if CUPTI_API_VERSION >= 19
typedef CUpti_ActivityKernel9 kernel_record;
#elif CUPTI_API_VERSION >= 18
typedef CUpti_ActivityKernel8 kernel_record;
#else
#error "CUPTI of CUDA 11.8 or later is needed"
#endif
typedef CUpti_ActivityMemcpy5 copy_record;
typedef CUpti_ActivityMemset4 set_record;
typedef CUpti_ActivityAPI api_record;

#define FUNCTIONS(X)                                                                               \
    X(cuptiActivityRegisterCallbacks)                                                              \
    X(cuptiActivityEnable)                                                                         \
    X(cuptiActivityDisable)                                                                        \
    X(cuptiActivityGetNextRecord)                                                                  \
    X(cuptiActivityGetNumDroppedRecords)                                                           \
    X(cuptiActivityFlushAll)                                                                       \
    X(cuptiGetCallbackName)                                                                        \
    X(cuptiSetThreadIdType)
#define NEWER_FUNCTIONS(X)                                                                         \
    X(cuptiActivityRegisterTimestampCallback)                                                      \
    X(cuptiActivityEnableRuntimeApi)                                                               \
    X(cuptiActivityEnableDriverApi)

#define MEMBER(name) __typeof__(&name) name;
static struct {
    FUNCTIONS(MEMBER)
    NEWER_FUNCTIONS(MEMBER)
} cupti;

/* What tells launches, copies and waits; other calls are many and say nothing of the GPU. */
static const char *const calls[] = {
    "cudaLaunch",     "cudaGraphLaunch",       "cudaGraphInstantiate",  "cudaMemcpy",
    "cudaMemset",     "cudaMalloc",            "cudaFree",              "cudaHostAlloc",
    "cudaHostRegister", "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize",
    "cuLaunch",       "cuGraphLaunch",         "cuGraphInstantiate",    "cuMemcpy",
    "cuMemset",       "cuMemAlloc",            "cuMemFree",             "cuMemHostAlloc",
    "cuMemHostRegister", "cuCtxSynchronize",   "cuStreamSynchronize",   "cuEventSynchronize",
    "cuModuleLoad",   "cuLibraryLoad",         "cuMemCreate",           "cuMemMap",
};

static pthread_mutex_t flush_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *spare[SPARE_BUFFERS];
static int spares;
static int ended;
static pid_t owner;
static uint64_t dropped;

static uint64_t CUPTIAPI timestamp(void) { return now_ns(); }

static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *most_records) {
    *most_records = 0;
    *size = BUFFER_BYTES;
    pthread_mutex_lock(&spare_lock);
    *buffer = spares ? spare[--spares] : NULL;
    pthread_mutex_unlock(&spare_lock);
    if (*buffer == NULL && posix_memalign((void **)buffer, 64, BUFFER_BYTES) != 0) {
        *buffer = NULL;
        *size = 0;
    }
}

static void give_back(uint8_t *buffer) {
    pthread_mutex_lock(&spare_lock);
    if (spares < SPARE_BUFFERS) {
        spare[spares++] = buffer;
        buffer = NULL;
    }
    pthread_mutex_unlock(&spare_lock);
    free(buffer);
}

/* Rows of one kind on their way into a frame. */
#define STAGE(type, kind)                                                                          \
    static void stage_##type(struct type##_stage *stage, struct type##_row row) {                  \
        stage->rows[stage->count++] = row;                                                         \
        if (stage->count == STAGED) {                                                              \
            put(kind, sizeof row, stage->rows, sizeof stage->rows);                                \
            stage->count = 0;                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void end_##type(struct type##_stage *stage) {                                           \
        put(kind, sizeof stage->rows[0], stage->rows, stage->count * sizeof stage->rows[0]);       \
    }
#define STAGE_OF(type)                                                                             \
    struct type##_stage {                                                                          \
        size_t count;                                                                              \
        struct type##_row rows[STAGED];                                                            \
    };
STAGE_OF(kernel)
STAGE_OF(transfer)
STAGE_OF(api)
STAGE(kernel, KERNEL)
STAGE(transfer, TRANSFER)
STAGE(api, API)

struct stages {
    struct kernel_stage kernel;
    struct transfer_stage transfer;
    struct api_stage api;
};

static struct kernel_row kernel(const kernel_record *from) {
    struct configuration_row as = {
        .name = text_id(from->name, from->name ? strlen(from->name) : 0),
        .grid = {(uint32_t)from->gridX, (uint32_t)from->gridY, (uint32_t)from->gridZ},
        .block = {(uint32_t)from->blockX, (uint32_t)from->blockY, (uint32_t)from->blockZ},
        .static_shared = (uint32_t)from->staticSharedMemory,
        .dynamic_shared = (uint32_t)from->dynamicSharedMemory,
        .registers = from->registersPerThread,
        .local = from->localMemoryPerThread,
        .cluster = {from->clusterX, from->clusterY, from->clusterZ},
    };
    return (struct kernel_row){
        .start = from->start,
        .end = from->end,
        .correlation = from->correlationId,
        .configuration = configuration_id(&as),
        .device = from->deviceId,
        .context = from->contextId,
        .stream = from->streamId,
        .graph = from->graphId,
        .node = from->graphNodeId,
    };
}

static struct transfer_row copy(const copy_record *from) {
    return (struct transfer_row){
        .start = from->start,
        .end = from->end,
        .bytes = from->bytes,
        .correlation = from->correlationId,
        .device = from->deviceId,
        .context = from->contextId,
        .stream = from->streamId,
        .graph = from->graphId,
        .to_device = from->deviceId,
        .kind = from->copyKind,
        .from = from->srcKind,
        .to = from->dstKind,
        .asynchronous = from->flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC ? 1 : 0,
    };
}

static struct transfer_row copy_between(const CUpti_ActivityMemcpyPtoP4 *from) {
    return (struct transfer_row){
        .start = from->start,
        .end = from->end,
        .bytes = from->bytes,
        .correlation = from->correlationId,
        .device = from->srcDeviceId,
        .context = from->contextId,
        .stream = from->streamId,
        .graph = from->graphId,
        .to_device = from->dstDeviceId,
        .kind = from->copyKind,
        .from = from->srcKind,
        .to = from->dstKind,
        .asynchronous = from->flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC ? 1 : 0,
    };
}

static struct transfer_row set(const set_record *from) {
    return (struct transfer_row){
        .start = from->start,
        .end = from->end,
        .bytes = from->bytes,
        .correlation = from->correlationId,
        .device = from->deviceId,
        .context = from->contextId,
        .stream = from->streamId,
        .graph = from->graphId,
        .to_device = from->deviceId,
        .kind = 255,
        .to = (uint8_t)from->memoryKind,
        .asynchronous = from->flags & CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC ? 1 : 0,
    };
}

static uint32_t call_name(CUpti_CallbackDomain domain, CUpti_CallbackId number) {
    static uint32_t known[2][MOST_CALLS];
    uint32_t *seen = number < MOST_CALLS ? &known[domain == CUPTI_CB_DOMAIN_DRIVER_API][number] : NULL;
    if (seen != NULL && *seen)
        return *seen;
    const char *name = NULL;
    if (cupti.cuptiGetCallbackName(domain, number, &name) != CUPTI_SUCCESS || name == NULL)
        return 0;
    uint32_t id = text_id(name, strlen(name));
    if (seen != NULL)
        *seen = id;
    return id;
}

static struct api_row api(const api_record *from) {
    CUpti_CallbackDomain domain = from->kind == CUPTI_ACTIVITY_KIND_DRIVER
                                      ? CUPTI_CB_DOMAIN_DRIVER_API
                                      : CUPTI_CB_DOMAIN_RUNTIME_API;
    return (struct api_row){
        .start = from->start,
        .end = from->end,
        .thread = from->threadId,
        .correlation = from->correlationId,
        .name = call_name(domain, from->cbid),
        .result = from->returnValue,
    };
}

static void device(const CUpti_ActivityDevice5 *from) {
    struct device_row row = {
        .id = from->id,
        .name = text_id(from->name, from->name ? strlen(from->name) : 0),
        .major = from->computeCapabilityMajor,
        .minor = from->computeCapabilityMinor,
        .multiprocessors = from->numMultiprocessors,
        .memory = from->globalMemorySize,
    };
    put(DEVICE, sizeof row, &row, sizeof row);
}

static void overhead(const CUpti_ActivityOverhead *from) {
    struct overhead_row row = {from->start, from->end, (uint32_t)from->overheadKind, 0};
    put(OVERHEAD, sizeof row, &row, sizeof row);
}

static void graph(const CUpti_ActivityGraphTrace *from) {
    struct graph_row row = {
        .start = from->start,
        .end = from->end,
        .correlation = from->correlationId,
        .graph = from->graphId,
        .device = from->deviceId,
        .context = from->contextId,
        .stream = from->streamId,
    };
    put(GRAPH, sizeof row, &row, sizeof row);
}

static void note(struct stages *to, const CUpti_Activity *record) {
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        stage_kernel(&to->kernel, kernel((const void *)record));
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        stage_transfer(&to->transfer, copy((const void *)record));
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        stage_transfer(&to->transfer, copy_between((const void *)record));
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        stage_transfer(&to->transfer, set((const void *)record));
        break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        stage_api(&to->api, api((const void *)record));
        break;
    case CUPTI_ACTIVITY_KIND_DEVICE:
        device((const void *)record);
        break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        overhead((const void *)record);
        break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        graph((const void *)record);
        break;
    default:
        break;
    }
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                      size_t size, size_t valid) {
    (void)size;
    struct stages *to = calloc(1, sizeof *to);
    CUpti_Activity *record = NULL;
    while (to != NULL && valid > 0 && getpid() == owner &&
           cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        note(to, record);
    size_t lost = 0;
    if (cupti.cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS)
        __atomic_fetch_add(&dropped, lost, __ATOMIC_RELAXED);
    if (to != NULL) {
        end_kernel(&to->kernel);
        end_transfer(&to->transfer);
        end_api(&to->api);
        free(to);
    }
    give_back(buffer);
}

/* So that little is lost of a process that is killed. */
static void *keep_flushing(void *nothing) {
    struct timespec pause = {0, FLUSH_MS * 1000000};
    for (;;) {
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&flush_lock);
        if (ended) {
            pthread_mutex_unlock(&flush_lock);
            return nothing;
        }
        cupti.cuptiActivityFlushAll(0);
        put_ranges();
        pthread_mutex_unlock(&flush_lock);
    }
}

static void at_end(void) {
    if (getpid() != owner)
        return;
    pthread_mutex_lock(&flush_lock);
    ended = 1;
    cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    put_ranges();
    struct end_row row = {now_ns(), dropped};
    put(END, sizeof row, &row, sizeof row);
    pthread_mutex_unlock(&flush_lock);
}

static int find_loaded(struct dl_phdr_info *info, size_t size, void *path) {
    (void)size;
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (name == NULL || strncmp(name, "/libcupti.so", sizeof "/libcupti.so" - 1) != 0)
        return 0;
    snprintf(path, 4096, "%s", info->dlpi_name);
    return 1;
}

static int take_functions(void *library) {
#define TAKE(name)                                                                                 \
    cupti.name = (__typeof__(cupti.name))dlsym(library, #name);                                    \
    if (cupti.name == NULL)                                                                        \
        return 0;
#define TRY(name) cupti.name = (__typeof__(cupti.name))dlsym(library, #name);
    uint32_t version = 0;
    CUptiResult (*version_of)(uint32_t *) = (CUptiResult(*)(uint32_t *))dlsym(library,
                                                                              "cuptiGetVersion");
    /* A record of an older version may end before the fields that are read here. */
    if (version_of == NULL || version_of(&version) != CUPTI_SUCCESS || version < 18 ||
        (version < 19 && CUPTI_API_VERSION >= 19))
        return 0;
    FUNCTIONS(TAKE)
    NEWER_FUNCTIONS(TRY)
    return 1;
}

static void enable_calls(CUpti_CallbackDomain domain, CUpti_ActivityKind kind,
                         CUptiResult (*enable)(CUpti_CallbackId, uint8_t)) {
    if (enable == NULL) {
        cupti.cuptiActivityEnable(kind);
        return;
    }
    for (CUpti_CallbackId number = 1; number < MOST_CALLS; number++) {
        const char *name = NULL;
        if (cupti.cuptiGetCallbackName(domain, number, &name) != CUPTI_SUCCESS || name == NULL)
            continue;
        for (size_t at = 0; at < sizeof calls / sizeof calls[0]; at++)
            if (strncmp(name, calls[at], strlen(calls[at])) == 0) {
                enable(number, 1);
                break;
            }
    }
}

/* Whether records come; CUPTI refuses a driver that is too old for it. */
static int begin(void) {
    if (cupti.cuptiActivityRegisterTimestampCallback != NULL)
        cupti.cuptiActivityRegisterTimestampCallback(timestamp);
    cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    if (cupti.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed) != CUPTI_SUCCESS)
        return 0;
    cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DEVICE);
    if (cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS)
        return 0;
    cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
    cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY2);
    cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
    cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD);
    const char *graphs = getenv("KERNELPROF_SURVEY_GRAPHS");
    if (graphs != NULL && strcmp(graphs, "whole") == 0)
        cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    enable_calls(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_ACTIVITY_KIND_RUNTIME,
                 cupti.cuptiActivityEnableRuntimeApi);
    enable_calls(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_ACTIVITY_KIND_DRIVER,
                 cupti.cuptiActivityEnableDriverApi);
    return 1;
}

/* The program's own CUPTI comes first: two in one process are in each other's way. */
static int begin_with_any(void) {
    char path[4096] = "";
    if (dl_iterate_phdr(find_loaded, path)) {
        void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
        return library != NULL && take_functions(library) && begin();
    }
    const char *given = getenv("KERNELPROF_SURVEY_CUPTI");
    while (given != NULL && *given) {
        size_t length = strcspn(given, ":");
        if (length > 0 && length < sizeof path) {
            memcpy(path, given, length);
            path[length] = '\0';
            void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (library != NULL && take_functions(library) && begin())
                return 1;
        }
        given += length + (given[length] == ':');
    }
    return 0;
}

__attribute__((visibility("default"))) int InitializeInjection(void) {
    if (!recording() || owner == getpid())
        return 1;
    owner = getpid();
    if (!begin_with_any())
        return 1;
    pthread_t thread;
    if (pthread_create(&thread, NULL, keep_flushing, NULL) == 0)
        pthread_detach(thread);
    atexit(at_end);
    return 1;
}
