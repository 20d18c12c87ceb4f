/* From the records of a buffer of CUPTI to rows of the file. */
#include "activity.h"
#include "records.h"

#include <stdlib.h>
#include <string.h>

enum { STAGED = 512 };

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
typedef CUpti_ActivityMemory3 memory_record;

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

/* Records of copies and fills have these members under the same names, and no common type. */
#define TRANSFER(from, source, target, ...)                                                       \
    (struct transfer_row) {                                                                       \
        .start = (from)->start, .end = (from)->end, .bytes = (from)->bytes,                       \
        .correlation = (from)->correlationId, .device = (source), .context = (from)->contextId,   \
        .stream = (from)->streamId, .graph = (from)->graphId, .to_device = (target), __VA_ARGS__  \
    }
#define COPY(record, source, target)                                                              \
    TRANSFER(record, source, target, .kind = (record)->copyKind, .from = (record)->srcKind,       \
             .to = (record)->dstKind,                                                             \
             .asynchronous = (record)->flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC ? 1 : 0)

static struct transfer_row copy(const copy_record *from) {
    return COPY(from, from->deviceId, from->deviceId);
}

static struct transfer_row copy_between(const CUpti_ActivityMemcpyPtoP4 *from) {
    return COPY(from, from->srcDeviceId, from->dstDeviceId);
}

static struct transfer_row set(const set_record *from) {
    return TRANSFER(from, from->deviceId, from->deviceId, .kind = 255,
                    .to = (uint8_t)from->memoryKind,
                    .asynchronous = from->flags & CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC ? 1 : 0);
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

static void memory(const memory_record *from) {
    struct memory_row row = {
        .time = from->timestamp,
        .bytes = from->bytes,
        .address = from->address,
        .what = (uint32_t)from->memoryOperationType,
        .kind = (uint32_t)from->memoryKind,
        .device = from->deviceId,
        .context = from->contextId,
    };
    put(MEMORY, sizeof row, &row, sizeof row);
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
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        memory((const void *)record);
        break;
    default:
        break;
    }
}

void put_records(uint8_t *buffer, size_t valid) {
    struct stages *to = calloc(1, sizeof *to);
    CUpti_Activity *record = NULL;
    if (to == NULL)
        return;
    while (valid > 0 &&
           cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        note(to, record);
    end_kernel(&to->kernel);
    end_transfer(&to->transfer);
    end_api(&to->api);
    free(to);
}
