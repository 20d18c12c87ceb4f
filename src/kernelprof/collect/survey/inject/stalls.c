/* PC sampling of CUPTI. It comes after PM sampling, beside which it gives nothing, and does not end:
 * cuptiPCSamplingDisable waits for locks that a launching thread holds while it waits for CUPTI. */
#include "stalls.h"
#include "records.h"
#include "sampling.h"

#include <cupti.h>

#if __has_include(<cupti_pmsampling.h>)
#include <cupti_pcsampling.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum {
    STALL_PERIOD = 18,     /* 2^18 cycles: a million samples a second of a GPU with 132 SMs */
    STALL_BYTES = 256 << 20, /* that the GPU has room for, half a minute of samples */
    STALL_PCS = 8192,      /* instructions that are read at once */
    MOST_STALLS = 64,
    STALL_READ_MS = 200,   /* pause before the first reading; each is longer than the last */
    STALL_PAUSE_MS = 3000,
};

#define STALL_FUNCTIONS(X)                                                                         \
    X(cuptiPCSamplingEnable)                                                                       \
    X(cuptiPCSamplingSetConfigurationAttribute)                                                    \
    X(cuptiPCSamplingGetNumStallReasons)                                                           \
    X(cuptiPCSamplingGetStallReasons)                                                              \
    X(cuptiPCSamplingGetData)
#define MEMBER(name) __typeof__(&name) name;
static struct { STALL_FUNCTIONS(MEMBER) } call;
#undef MEMBER

int take_stalls(void *library) {
#define TAKE(name)                                                                                 \
    if ((call.name = (__typeof__(call.name))dlsym(library, #name)) == NULL)                        \
        return 0;
    STALL_FUNCTIONS(TAKE)
#undef TAKE
    return 1;
}

static CUpti_PCSamplingData *new_stall_data(size_t reasons) {
    CUpti_PCSamplingData *data = calloc(1, sizeof *data);
    CUpti_PCSamplingPCData *each = calloc(STALL_PCS, sizeof *each);
    CUpti_PCSamplingStallReason *counts = calloc(STALL_PCS * reasons, sizeof *counts);
    if (data == NULL || each == NULL || counts == NULL)
        return NULL;
    data->size = sizeof *data;
    data->collectNumPcs = STALL_PCS;
    data->pPcData = each;
    for (size_t at = 0; at < STALL_PCS; at++) {
        each[at].size = sizeof *each;
        each[at].stallReason = counts + at * reasons;
    }
    return data;
}

/* PC sampling of a context has begun: its data, and the texts of its stall reasons. */
static CUpti_PCSamplingData *begin_stalls(CUcontext context, uint32_t *texts) {
    CUpti_PCSamplingEnableParams enable = {CUpti_PCSamplingEnableParamsSize, NULL, context};
    size_t reasons = 0;
    CUpti_PCSamplingGetNumStallReasonsParams number = {
        CUpti_PCSamplingGetNumStallReasonsParamsSize, NULL, context, &reasons};
    if (call.cuptiPCSamplingEnable(&enable) != CUPTI_SUCCESS ||
        call.cuptiPCSamplingGetNumStallReasons(&number) != CUPTI_SUCCESS || reasons == 0 ||
        reasons > MOST_STALLS)
        return NULL;
    uint32_t indices[MOST_STALLS];
    char names[MOST_STALLS][CUPTI_STALL_REASON_STRING_SIZE], *pointers[MOST_STALLS];
    for (size_t at = 0; at < reasons; at++)
        pointers[at] = names[at];
    CUpti_PCSamplingGetStallReasonsParams name = {
        CUpti_PCSamplingGetStallReasonsParamsSize, NULL, context, reasons, indices, pointers};
    if (call.cuptiPCSamplingGetStallReasons(&name) != CUPTI_SUCCESS)
        return NULL;
    for (size_t at = 0; at < reasons; at++)
        if (indices[at] < MOST_STALLS)
            texts[indices[at]] = text_id(names[at], strlen(names[at]));
    CUpti_PCSamplingData *rest = new_stall_data(reasons), *data = new_stall_data(reasons);
    if (rest == NULL || data == NULL)
        return NULL;
    CUpti_PCSamplingConfigurationInfo to[4] = {
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER},
    };
    to[0].attributeData.samplingPeriodData.samplingPeriod = STALL_PERIOD;
    to[1].attributeData.stallReasonData.stallReasonCount = reasons;
    to[1].attributeData.stallReasonData.pStallReasonIndex = indices;
    to[2].attributeData.hardwareBufferSizeData.hardwareBufferSize = STALL_BYTES;
    to[3].attributeData.samplingDataBufferData.samplingDataBuffer = rest;
    CUpti_PCSamplingConfigurationInfoParams all = {CUpti_PCSamplingConfigurationInfoParamsSize,
                                                   NULL, context, 4, to};
    return call.cuptiPCSamplingSetConfigurationAttribute(&all) == CUPTI_SUCCESS ? data : NULL;
}

static int write_stalls(CUcontext context, CUpti_PCSamplingData *data, const uint32_t *texts,
                        size_t device) {
    CUpti_PCSamplingGetDataParams get = {CUpti_PCSamplingGetDataParamsSize, NULL, context, data};
    struct stall_row rows[MOST_STALLS];
    do {
        if (call.cuptiPCSamplingGetData(&get) != CUPTI_SUCCESS)
            return 0;
        for (size_t at = 0; at < data->totalNumPcs; at++) {
            CUpti_PCSamplingPCData *pc = &data->pPcData[at];
            uint32_t function = text_id(pc->functionName, strlen(pc->functionName));
            size_t count = 0;
            for (size_t each = 0; each < pc->stallReasonCount && count < MOST_STALLS; each++) {
                CUpti_PCSamplingStallReason *stall = &pc->stallReason[each];
                if (stall->pcSamplingStallReasonIndex < MOST_STALLS)
                    rows[count++] = (struct stall_row){
                        pc->cubinCrc, pc->pcOffset, function,
                        texts[stall->pcSamplingStallReasonIndex], stall->samples,
                        (uint32_t)device};
            }
            put(STALL, sizeof rows[0], rows, count * sizeof rows[0]);
        }
    } while (data->remainingNumPcs > 0);
    return 1;
}

void sample_stalls(size_t device) {
    CUresult (*retain)(CUcontext *, CUdevice) =
        (CUresult(*)(CUcontext *, CUdevice))driver_function("cuDevicePrimaryCtxRetain");
    CUcontext context = NULL;
    uint32_t texts[MOST_STALLS] = {0};
    if (retain == NULL || retain(&context, (CUdevice)device) != CUDA_SUCCESS)
        return;
    CUpti_PCSamplingData *data = begin_stalls(context, texts);
    end_before_cupti();
    int works = data != NULL;
    for (long pause = STALL_READ_MS; works && !is_ended();) {
        pause_until_ended(pause);
        works = write_stalls(context, data, texts, device);
        pause = pause * 2 < STALL_PAUSE_MS ? pause * 2 : STALL_PAUSE_MS;
    }
}

#endif
