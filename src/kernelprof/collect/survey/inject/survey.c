/* Loaded into every CUDA program that runs with CUDA_INJECTION64_PATH: the driver calls
 * InitializeInjection when it is initialized. Activity records of CUPTI go into a file of their
 * process. Whatever fails here, the program runs on as it would have. */
#define _GNU_SOURCE
#include "activity.h"
#include "records.h"
#include "sampling.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 19, SPARE_BUFFERS = 16, FLUSH_MS = 100 };

struct cupti_functions cupti;

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

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                      size_t size, size_t valid) {
    (void)size;
    if (getpid() == owner)
        put_records(buffer, valid);
    size_t lost = 0;
    if (cupti.cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS)
        __atomic_fetch_add(&dropped, lost, __ATOMIC_RELAXED);
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
    end_sampling();
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
    cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2);
    const char *graphs = getenv("KERNELPROF_SURVEY_GRAPHS");
    if (graphs != NULL && strcmp(graphs, "whole") == 0)
        cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    enable_calls(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_ACTIVITY_KIND_RUNTIME,
                 cupti.cuptiActivityEnableRuntimeApi);
    enable_calls(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_ACTIVITY_KIND_DRIVER,
                 cupti.cuptiActivityEnableDriverApi);
    return 1;
}

static int begin_with(void *library) {
    if (library == NULL || !take_functions(library) || !begin())
        return 0;
    begin_sampling(library);
    return 1;
}

/* The program's own CUPTI comes first: two in one process are in each other's way. */
static int begin_with_any(void) {
    char path[4096] = "";
    if (dl_iterate_phdr(find_loaded, path)) {
        void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
        return begin_with(library);
    }
    const char *given = getenv("KERNELPROF_SURVEY_CUPTI");
    while (given != NULL && *given) {
        size_t length = strcspn(given, ":");
        if (length > 0 && length < sizeof path) {
            memcpy(path, given, length);
            path[length] = '\0';
            void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (begin_with(library))
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
