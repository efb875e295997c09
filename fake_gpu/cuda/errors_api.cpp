// SPDX-License-Identifier: Apache-2.0
//
// cuGetErrorName and cuGetErrorString for all errors of cuda.h.
#include "cuda/state.h"

namespace {

struct ErrorText {
  CUresult code;
  const char* name;
  const char* text;
};

#define FAKE_GPU_ERROR(name, text) \
  { CUDA_##name, "CUDA_" #name, text }
constexpr ErrorText kErrors[] = {
    FAKE_GPU_ERROR(SUCCESS, "no error"),
    FAKE_GPU_ERROR(ERROR_INVALID_VALUE, "invalid argument"),
    FAKE_GPU_ERROR(ERROR_OUT_OF_MEMORY, "out of memory"),
    FAKE_GPU_ERROR(ERROR_NOT_INITIALIZED, "initialization error"),
    FAKE_GPU_ERROR(ERROR_DEINITIALIZED, "driver shutting down"),
    FAKE_GPU_ERROR(ERROR_PROFILER_DISABLED,
                   "profiler disabled while using external profiling tool"),
    FAKE_GPU_ERROR(ERROR_PROFILER_NOT_INITIALIZED,
                   "profiler not initialized: call cudaProfilerInitialize()"),
    FAKE_GPU_ERROR(ERROR_PROFILER_ALREADY_STARTED, "profiler already started"),
    FAKE_GPU_ERROR(ERROR_PROFILER_ALREADY_STOPPED, "profiler already stopped"),
    FAKE_GPU_ERROR(ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
    FAKE_GPU_ERROR(ERROR_CALL_REQUIRES_NEWER_DRIVER, "API call requires a newer CUDA driver"),
    FAKE_GPU_ERROR(ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"),
    FAKE_GPU_ERROR(ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    FAKE_GPU_ERROR(ERROR_INVALID_DEVICE, "invalid device ordinal"),
    FAKE_GPU_ERROR(ERROR_DEVICE_NOT_LICENSED, "device doesn't have valid Grid license"),
    FAKE_GPU_ERROR(ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    FAKE_GPU_ERROR(ERROR_INVALID_CONTEXT, "invalid device context"),
    FAKE_GPU_ERROR(ERROR_CONTEXT_ALREADY_CURRENT, "context already current"),
    FAKE_GPU_ERROR(ERROR_MAP_FAILED, "mapping of buffer object failed"),
    FAKE_GPU_ERROR(ERROR_UNMAP_FAILED, "unmapping of buffer object failed"),
    FAKE_GPU_ERROR(ERROR_ARRAY_IS_MAPPED, "array is mapped"),
    FAKE_GPU_ERROR(ERROR_ALREADY_MAPPED, "resource already mapped"),
    FAKE_GPU_ERROR(ERROR_NO_BINARY_FOR_GPU,
                   "no kernel image is available for execution on the device"),
    FAKE_GPU_ERROR(ERROR_ALREADY_ACQUIRED, "resource already acquired"),
    FAKE_GPU_ERROR(ERROR_NOT_MAPPED, "resource not mapped"),
    FAKE_GPU_ERROR(ERROR_NOT_MAPPED_AS_ARRAY, "resource not mapped as array"),
    FAKE_GPU_ERROR(ERROR_NOT_MAPPED_AS_POINTER, "resource not mapped as pointer"),
    FAKE_GPU_ERROR(ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
    FAKE_GPU_ERROR(ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
    FAKE_GPU_ERROR(ERROR_CONTEXT_ALREADY_IN_USE,
                   "exclusive-thread device already in use by a different thread"),
    FAKE_GPU_ERROR(ERROR_PEER_ACCESS_UNSUPPORTED,
                   "peer access is not supported between these two devices"),
    FAKE_GPU_ERROR(ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    FAKE_GPU_ERROR(ERROR_INVALID_GRAPHICS_CONTEXT, "invalid OpenGL or DirectX context"),
    FAKE_GPU_ERROR(ERROR_NVLINK_UNCORRECTABLE,
                   "uncorrectable NVLink error detected during the execution"),
    FAKE_GPU_ERROR(ERROR_JIT_COMPILER_NOT_FOUND, "PTX JIT compiler library not found"),
    FAKE_GPU_ERROR(ERROR_UNSUPPORTED_PTX_VERSION,
                   "the provided PTX was compiled with an unsupported toolchain."),
    FAKE_GPU_ERROR(ERROR_JIT_COMPILATION_DISABLED, "PTX JIT compilation was disabled"),
    FAKE_GPU_ERROR(ERROR_UNSUPPORTED_EXEC_AFFINITY,
                   "the provided execution affinity is not supported"),
    FAKE_GPU_ERROR(ERROR_UNSUPPORTED_DEVSIDE_SYNC,
                   "the provided PTX contains unsupported call to cudaDeviceSynchronize"),
    FAKE_GPU_ERROR(ERROR_CONTAINED,
                   "Invalid access of peer GPU memory over nvlink or a hardware error"),
    FAKE_GPU_ERROR(ERROR_INVALID_SOURCE, "device kernel image is invalid"),
    FAKE_GPU_ERROR(ERROR_FILE_NOT_FOUND, "file not found"),
    FAKE_GPU_ERROR(ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "shared object symbol not found"),
    FAKE_GPU_ERROR(ERROR_SHARED_OBJECT_INIT_FAILED, "shared object initialization failed"),
    FAKE_GPU_ERROR(ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
    FAKE_GPU_ERROR(ERROR_INVALID_HANDLE, "invalid resource handle"),
    FAKE_GPU_ERROR(ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    FAKE_GPU_ERROR(ERROR_LOSSY_QUERY, "attempted introspection would be semantically lossy"),
    FAKE_GPU_ERROR(ERROR_NOT_FOUND, "named symbol not found"),
    FAKE_GPU_ERROR(ERROR_NOT_READY, "device not ready"),
    FAKE_GPU_ERROR(ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    FAKE_GPU_ERROR(ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    FAKE_GPU_ERROR(ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    FAKE_GPU_ERROR(ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, "launch uses incompatible texturing mode"),
    FAKE_GPU_ERROR(ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
    FAKE_GPU_ERROR(ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    FAKE_GPU_ERROR(ERROR_PRIMARY_CONTEXT_ACTIVE,
                   "cannot set while device is active in this process"),
    FAKE_GPU_ERROR(ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    FAKE_GPU_ERROR(ERROR_ASSERT, "device-side assert triggered"),
    FAKE_GPU_ERROR(ERROR_TOO_MANY_PEERS, "peer mapping resources exhausted"),
    FAKE_GPU_ERROR(ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                   "part or all of the requested memory range is already mapped"),
    FAKE_GPU_ERROR(ERROR_HOST_MEMORY_NOT_REGISTERED,
                   "pointer does not correspond to a registered memory region"),
    FAKE_GPU_ERROR(ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    FAKE_GPU_ERROR(ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    FAKE_GPU_ERROR(ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    FAKE_GPU_ERROR(ERROR_INVALID_ADDRESS_SPACE,
                   "operation not supported on global/shared address space"),
    FAKE_GPU_ERROR(ERROR_INVALID_PC, "invalid program counter"),
    FAKE_GPU_ERROR(ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    FAKE_GPU_ERROR(ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
    FAKE_GPU_ERROR(ERROR_TENSOR_MEMORY_LEAK, "tensor memory was not completely freed"),
    FAKE_GPU_ERROR(ERROR_NOT_PERMITTED, "operation not permitted"),
    FAKE_GPU_ERROR(ERROR_NOT_SUPPORTED, "operation not supported"),
    FAKE_GPU_ERROR(ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
    FAKE_GPU_ERROR(ERROR_SYSTEM_DRIVER_MISMATCH,
                   "system has unsupported display driver / cuda driver combination"),
    FAKE_GPU_ERROR(ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
                   "forward compatibility was attempted on non supported HW"),
    FAKE_GPU_ERROR(ERROR_MPS_CONNECTION_FAILED,
                   "MPS client failed to connect to the MPS control daemon or the MPS server"),
    FAKE_GPU_ERROR(ERROR_MPS_RPC_FAILURE,
                   "the remote procedural call between the MPS server and the MPS client failed"),
    FAKE_GPU_ERROR(ERROR_MPS_SERVER_NOT_READY,
                   "MPS server is not ready to accept new MPS client requests"),
    FAKE_GPU_ERROR(ERROR_MPS_MAX_CLIENTS_REACHED,
                   "the hardware resources required to create MPS client have been exhausted"),
    FAKE_GPU_ERROR(
        ERROR_MPS_MAX_CONNECTIONS_REACHED,
        "the hardware resources required to support device connections have been exhausted"),
    FAKE_GPU_ERROR(ERROR_MPS_CLIENT_TERMINATED, "the MPS client has been terminated by the server"),
    FAKE_GPU_ERROR(ERROR_CDP_NOT_SUPPORTED,
                   "the program is using CUDA Dynamic Parallelism, but the current configuration "
                   "does not support it"),
    FAKE_GPU_ERROR(ERROR_CDP_VERSION_MISMATCH,
                   "the program contains an unsupported interaction between different versions of "
                   "CUDA Dynamic Parallelism"),
    FAKE_GPU_ERROR(ERROR_STREAM_CAPTURE_UNSUPPORTED,
                   "operation not permitted when stream is capturing"),
    FAKE_GPU_ERROR(ERROR_STREAM_CAPTURE_INVALIDATED,
                   "operation failed due to a previous error during capture"),
    FAKE_GPU_ERROR(ERROR_STREAM_CAPTURE_MERGE,
                   "operation would result in a merge of separate capture sequences"),
    FAKE_GPU_ERROR(ERROR_STREAM_CAPTURE_UNMATCHED,
                   "capture was not ended in the same stream as it began"),
    FAKE_GPU_ERROR(ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
    FAKE_GPU_ERROR(ERROR_STREAM_CAPTURE_ISOLATION,
                   "dependency created on uncaptured work in another stream"),
    FAKE_GPU_ERROR(ERROR_STREAM_CAPTURE_IMPLICIT,
                   "operation would make the legacy stream depend on a capturing blocking stream"),
    FAKE_GPU_ERROR(ERROR_CAPTURED_EVENT,
                   "operation not permitted on an event last recorded in a capturing stream"),
    FAKE_GPU_ERROR(ERROR_STREAM_CAPTURE_WRONG_THREAD,
                   "attempt to terminate a thread-local capture sequence from another thread"),
    FAKE_GPU_ERROR(ERROR_TIMEOUT, "wait operation timed out"),
    FAKE_GPU_ERROR(ERROR_GRAPH_EXEC_UPDATE_FAILURE,
                   "the graph update was not performed because it included changes which violated "
                   "constraints specific to instantiated graph update"),
    FAKE_GPU_ERROR(ERROR_EXTERNAL_DEVICE,
                   "an async error has occurred in external entity outside of CUDA"),
    FAKE_GPU_ERROR(ERROR_INVALID_CLUSTER_SIZE,
                   "a kernel launch error has occurred due to cluster misconfiguration"),
    FAKE_GPU_ERROR(
        ERROR_FUNCTION_NOT_LOADED,
        "the function handle is not loaded when calling an API that requires a loaded function"),
    FAKE_GPU_ERROR(
        ERROR_INVALID_RESOURCE_TYPE,
        "one or more resources passed in are not valid resource types for the operation"),
    FAKE_GPU_ERROR(ERROR_INVALID_RESOURCE_CONFIGURATION,
                   "one or more resources are insufficient or non-applicable for the operation"),
    FAKE_GPU_ERROR(ERROR_KEY_ROTATION,
                   "the requested operation is not permitted because key rotation is in progress"),
    FAKE_GPU_ERROR(ERROR_UNKNOWN, "unknown error"),
};

const ErrorText* Find(CUresult code) {
  for (const ErrorText& error : kErrors) {
    if (error.code == code) return &error;
  }
  return nullptr;
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuGetErrorName(CUresult code, const char** text) {
  FAKE_GPU_REQUIRE(text != nullptr, CUDA_ERROR_INVALID_VALUE);
  const ErrorText* found = Find(code);
  *text = found == nullptr ? nullptr : found->name;
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGetErrorString(CUresult code, const char** text) {
  FAKE_GPU_REQUIRE(text != nullptr, CUDA_ERROR_INVALID_VALUE);
  const ErrorText* found = Find(code);
  *text = found == nullptr ? nullptr : found->text;
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
