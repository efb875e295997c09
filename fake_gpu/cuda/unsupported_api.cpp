// SPDX-License-Identifier: Apache-2.0
//
// Functions that the simulated driver lacks. They exist because loaders refuse a driver without
// them, and return CUDA_ERROR_NOT_SUPPORTED.
#include "cuda/state.h"

// All functions below are this function, which ignores its arguments.
extern "C" __attribute__((used)) CUresult fakeGpuNotSupported() {
  return CUDA_ERROR_NOT_SUPPORTED;
}

#define FAKE_GPU_UNSUPPORTED(name) FAKE_GPU_ALIAS(name, "fakeGpuNotSupported")

// Arrays in sparse or multi-level form, and textures of modules.
FAKE_GPU_UNSUPPORTED("cuArrayGetMemoryRequirements");
FAKE_GPU_UNSUPPORTED("cuArrayGetPlane");
FAKE_GPU_UNSUPPORTED("cuArrayGetSparseProperties");
FAKE_GPU_UNSUPPORTED("cuMemMapArrayAsync");
FAKE_GPU_UNSUPPORTED("cuMemMapArrayAsync_ptsz");
FAKE_GPU_UNSUPPORTED("cuMipmappedArrayCreate");
FAKE_GPU_UNSUPPORTED("cuMipmappedArrayDestroy");
FAKE_GPU_UNSUPPORTED("cuMipmappedArrayGetLevel");
FAKE_GPU_UNSUPPORTED("cuMipmappedArrayGetMemoryRequirements");
FAKE_GPU_UNSUPPORTED("cuMipmappedArrayGetSparseProperties");
FAKE_GPU_UNSUPPORTED("cuModuleGetSurfRef");
FAKE_GPU_UNSUPPORTED("cuModuleGetTexRef");
FAKE_GPU_UNSUPPORTED("cuSurfRefGetArray");
FAKE_GPU_UNSUPPORTED("cuSurfRefSetArray");
FAKE_GPU_UNSUPPORTED("cuTexRefCreate");
FAKE_GPU_UNSUPPORTED("cuTexRefDestroy");
FAKE_GPU_UNSUPPORTED("cuTexRefGetAddress");
FAKE_GPU_UNSUPPORTED("cuTexRefGetAddress_v2");
FAKE_GPU_UNSUPPORTED("cuTexRefGetAddressMode");
FAKE_GPU_UNSUPPORTED("cuTexRefGetArray");
FAKE_GPU_UNSUPPORTED("cuTexRefGetBorderColor");
FAKE_GPU_UNSUPPORTED("cuTexRefGetFilterMode");
FAKE_GPU_UNSUPPORTED("cuTexRefGetFlags");
FAKE_GPU_UNSUPPORTED("cuTexRefGetFormat");
FAKE_GPU_UNSUPPORTED("cuTexRefGetMaxAnisotropy");
FAKE_GPU_UNSUPPORTED("cuTexRefGetMipmapFilterMode");
FAKE_GPU_UNSUPPORTED("cuTexRefGetMipmapLevelBias");
FAKE_GPU_UNSUPPORTED("cuTexRefGetMipmapLevelClamp");
FAKE_GPU_UNSUPPORTED("cuTexRefGetMipmappedArray");
FAKE_GPU_UNSUPPORTED("cuTexRefSetAddress");
FAKE_GPU_UNSUPPORTED("cuTexRefSetAddress_v2");
FAKE_GPU_UNSUPPORTED("cuTexRefSetAddress2D");
FAKE_GPU_UNSUPPORTED("cuTexRefSetAddress2D_v2");
FAKE_GPU_UNSUPPORTED("cuTexRefSetAddress2D_v3");
FAKE_GPU_UNSUPPORTED("cuTexRefSetAddressMode");
FAKE_GPU_UNSUPPORTED("cuTexRefSetArray");
FAKE_GPU_UNSUPPORTED("cuTexRefSetBorderColor");
FAKE_GPU_UNSUPPORTED("cuTexRefSetFilterMode");
FAKE_GPU_UNSUPPORTED("cuTexRefSetFlags");
FAKE_GPU_UNSUPPORTED("cuTexRefSetFormat");
FAKE_GPU_UNSUPPORTED("cuTexRefSetMaxAnisotropy");
FAKE_GPU_UNSUPPORTED("cuTexRefSetMipmapFilterMode");
FAKE_GPU_UNSUPPORTED("cuTexRefSetMipmapLevelBias");
FAKE_GPU_UNSUPPORTED("cuTexRefSetMipmapLevelClamp");
FAKE_GPU_UNSUPPORTED("cuTexRefSetMipmappedArray");

// Graphics.
FAKE_GPU_UNSUPPORTED("cuEGLStreamConsumerAcquireFrame");
FAKE_GPU_UNSUPPORTED("cuEGLStreamConsumerConnect");
FAKE_GPU_UNSUPPORTED("cuEGLStreamConsumerConnectWithFlags");
FAKE_GPU_UNSUPPORTED("cuEGLStreamConsumerDisconnect");
FAKE_GPU_UNSUPPORTED("cuEGLStreamConsumerReleaseFrame");
FAKE_GPU_UNSUPPORTED("cuEGLStreamProducerConnect");
FAKE_GPU_UNSUPPORTED("cuEGLStreamProducerDisconnect");
FAKE_GPU_UNSUPPORTED("cuEGLStreamProducerPresentFrame");
FAKE_GPU_UNSUPPORTED("cuEGLStreamProducerReturnFrame");
FAKE_GPU_UNSUPPORTED("cuGLCtxCreate");
FAKE_GPU_UNSUPPORTED("cuGLCtxCreate_v2");
FAKE_GPU_UNSUPPORTED("cuGLGetDevices");
FAKE_GPU_UNSUPPORTED("cuGLGetDevices_v2");
FAKE_GPU_UNSUPPORTED("cuGLInit");
FAKE_GPU_UNSUPPORTED("cuGLMapBufferObject");
FAKE_GPU_UNSUPPORTED("cuGLMapBufferObject_v2");
FAKE_GPU_UNSUPPORTED("cuGLMapBufferObject_v2_ptds");
FAKE_GPU_UNSUPPORTED("cuGLMapBufferObjectAsync");
FAKE_GPU_UNSUPPORTED("cuGLMapBufferObjectAsync_v2");
FAKE_GPU_UNSUPPORTED("cuGLMapBufferObjectAsync_v2_ptsz");
FAKE_GPU_UNSUPPORTED("cuGLRegisterBufferObject");
FAKE_GPU_UNSUPPORTED("cuGLSetBufferObjectMapFlags");
FAKE_GPU_UNSUPPORTED("cuGLUnmapBufferObject");
FAKE_GPU_UNSUPPORTED("cuGLUnmapBufferObjectAsync");
FAKE_GPU_UNSUPPORTED("cuGLUnregisterBufferObject");
FAKE_GPU_UNSUPPORTED("cuGraphicsEGLRegisterImage");
FAKE_GPU_UNSUPPORTED("cuGraphicsGLRegisterBuffer");
FAKE_GPU_UNSUPPORTED("cuGraphicsGLRegisterImage");
FAKE_GPU_UNSUPPORTED("cuGraphicsMapResources");
FAKE_GPU_UNSUPPORTED("cuGraphicsMapResources_ptsz");
FAKE_GPU_UNSUPPORTED("cuGraphicsResourceGetMappedEglFrame");
FAKE_GPU_UNSUPPORTED("cuGraphicsResourceGetMappedMipmappedArray");
FAKE_GPU_UNSUPPORTED("cuGraphicsResourceGetMappedPointer");
FAKE_GPU_UNSUPPORTED("cuGraphicsResourceGetMappedPointer_v2");
FAKE_GPU_UNSUPPORTED("cuGraphicsResourceSetMapFlags");
FAKE_GPU_UNSUPPORTED("cuGraphicsResourceSetMapFlags_v2");
FAKE_GPU_UNSUPPORTED("cuGraphicsSubResourceGetMappedArray");
FAKE_GPU_UNSUPPORTED("cuGraphicsUnmapResources");
FAKE_GPU_UNSUPPORTED("cuGraphicsUnmapResources_ptsz");
FAKE_GPU_UNSUPPORTED("cuGraphicsUnregisterResource");
FAKE_GPU_UNSUPPORTED("cuGraphicsVDPAURegisterOutputSurface");
FAKE_GPU_UNSUPPORTED("cuGraphicsVDPAURegisterVideoSurface");
FAKE_GPU_UNSUPPORTED("cuVDPAUCtxCreate");
FAKE_GPU_UNSUPPORTED("cuVDPAUCtxCreate_v2");
FAKE_GPU_UNSUPPORTED("cuVDPAUGetDevice");

// Other processes and other memory.
FAKE_GPU_UNSUPPORTED("cuCheckpointProcessCheckpoint");
FAKE_GPU_UNSUPPORTED("cuCheckpointProcessGetRestoreThreadId");
FAKE_GPU_UNSUPPORTED("cuCheckpointProcessGetState");
FAKE_GPU_UNSUPPORTED("cuCheckpointProcessLock");
FAKE_GPU_UNSUPPORTED("cuCheckpointProcessRestore");
FAKE_GPU_UNSUPPORTED("cuCheckpointProcessUnlock");
FAKE_GPU_UNSUPPORTED("cuDestroyExternalMemory");
FAKE_GPU_UNSUPPORTED("cuDestroyExternalSemaphore");
FAKE_GPU_UNSUPPORTED("cuDeviceGetNvSciSyncAttributes");
FAKE_GPU_UNSUPPORTED("cuExternalMemoryGetMappedBuffer");
FAKE_GPU_UNSUPPORTED("cuExternalMemoryGetMappedMipmappedArray");
FAKE_GPU_UNSUPPORTED("cuImportExternalMemory");
FAKE_GPU_UNSUPPORTED("cuImportExternalSemaphore");
FAKE_GPU_UNSUPPORTED("cuIpcCloseMemHandle");
FAKE_GPU_UNSUPPORTED("cuIpcGetEventHandle");
FAKE_GPU_UNSUPPORTED("cuIpcGetMemHandle");
FAKE_GPU_UNSUPPORTED("cuIpcOpenEventHandle");
FAKE_GPU_UNSUPPORTED("cuIpcOpenMemHandle");
FAKE_GPU_UNSUPPORTED("cuIpcOpenMemHandle_v2");
FAKE_GPU_UNSUPPORTED("cuMemExportToShareableHandle");
FAKE_GPU_UNSUPPORTED("cuMemGetHandleForAddressRange");
FAKE_GPU_UNSUPPORTED("cuMemImportFromShareableHandle");
FAKE_GPU_UNSUPPORTED("cuMemPoolExportPointer");
FAKE_GPU_UNSUPPORTED("cuMemPoolExportToShareableHandle");
FAKE_GPU_UNSUPPORTED("cuMemPoolImportFromShareableHandle");
FAKE_GPU_UNSUPPORTED("cuMemPoolImportPointer");
FAKE_GPU_UNSUPPORTED("cuMulticastAddDevice");
FAKE_GPU_UNSUPPORTED("cuMulticastBindAddr");
FAKE_GPU_UNSUPPORTED("cuMulticastBindMem");
FAKE_GPU_UNSUPPORTED("cuMulticastCreate");
FAKE_GPU_UNSUPPORTED("cuMulticastGetGranularity");
FAKE_GPU_UNSUPPORTED("cuMulticastUnbind");
FAKE_GPU_UNSUPPORTED("cuSignalExternalSemaphoresAsync");
FAKE_GPU_UNSUPPORTED("cuSignalExternalSemaphoresAsync_ptsz");
FAKE_GPU_UNSUPPORTED("cuWaitExternalSemaphoresAsync");
FAKE_GPU_UNSUPPORTED("cuWaitExternalSemaphoresAsync_ptsz");

// Parts of devices.
FAKE_GPU_UNSUPPORTED("cuCtxFromGreenCtx");
FAKE_GPU_UNSUPPORTED("cuCtxGetDevResource");
FAKE_GPU_UNSUPPORTED("cuCtxRecordEvent");
FAKE_GPU_UNSUPPORTED("cuCtxWaitEvent");
FAKE_GPU_UNSUPPORTED("cuDevResourceGenerateDesc");
FAKE_GPU_UNSUPPORTED("cuDevSmResourceSplitByCount");
FAKE_GPU_UNSUPPORTED("cuDeviceGetDevResource");
FAKE_GPU_UNSUPPORTED("cuGreenCtxCreate");
FAKE_GPU_UNSUPPORTED("cuGreenCtxDestroy");
FAKE_GPU_UNSUPPORTED("cuGreenCtxGetDevResource");
FAKE_GPU_UNSUPPORTED("cuGreenCtxGetId");
FAKE_GPU_UNSUPPORTED("cuGreenCtxRecordEvent");
FAKE_GPU_UNSUPPORTED("cuGreenCtxStreamCreate");
FAKE_GPU_UNSUPPORTED("cuGreenCtxWaitEvent");
FAKE_GPU_UNSUPPORTED("cuStreamGetGreenCtx");

// Nodes of graphs.
FAKE_GPU_UNSUPPORTED("cuGraphAddBatchMemOpNode");
FAKE_GPU_UNSUPPORTED("cuGraphAddExternalSemaphoresSignalNode");
FAKE_GPU_UNSUPPORTED("cuGraphAddExternalSemaphoresWaitNode");
FAKE_GPU_UNSUPPORTED("cuGraphBatchMemOpNodeGetParams");
FAKE_GPU_UNSUPPORTED("cuGraphBatchMemOpNodeSetParams");
FAKE_GPU_UNSUPPORTED("cuGraphConditionalHandleCreate");
FAKE_GPU_UNSUPPORTED("cuGraphExecBatchMemOpNodeSetParams");
FAKE_GPU_UNSUPPORTED("cuGraphExecExternalSemaphoresSignalNodeSetParams");
FAKE_GPU_UNSUPPORTED("cuGraphExecExternalSemaphoresWaitNodeSetParams");
FAKE_GPU_UNSUPPORTED("cuGraphExternalSemaphoresSignalNodeGetParams");
FAKE_GPU_UNSUPPORTED("cuGraphExternalSemaphoresSignalNodeSetParams");
FAKE_GPU_UNSUPPORTED("cuGraphExternalSemaphoresWaitNodeGetParams");
FAKE_GPU_UNSUPPORTED("cuGraphExternalSemaphoresWaitNodeSetParams");

// Launches of CUDA 3 and of several devices.
FAKE_GPU_UNSUPPORTED("cuFuncSetBlockShape");
FAKE_GPU_UNSUPPORTED("cuFuncSetSharedSize");
FAKE_GPU_UNSUPPORTED("cuLaunch");
FAKE_GPU_UNSUPPORTED("cuLaunchCooperativeKernelMultiDevice");
FAKE_GPU_UNSUPPORTED("cuLaunchGrid");
FAKE_GPU_UNSUPPORTED("cuLaunchGridAsync");
FAKE_GPU_UNSUPPORTED("cuParamSetSize");
FAKE_GPU_UNSUPPORTED("cuParamSetTexRef");
FAKE_GPU_UNSUPPORTED("cuParamSetf");
FAKE_GPU_UNSUPPORTED("cuParamSeti");
FAKE_GPU_UNSUPPORTED("cuParamSetv");

// Others.
FAKE_GPU_UNSUPPORTED("cuDeviceGetHostAtomicCapabilities");
FAKE_GPU_UNSUPPORTED("cuDeviceGetLuid");
FAKE_GPU_UNSUPPORTED("cuDeviceGetP2PAtomicCapabilities");
FAKE_GPU_UNSUPPORTED("cuDeviceRegisterAsyncNotification");
FAKE_GPU_UNSUPPORTED("cuDeviceUnregisterAsyncNotification");
FAKE_GPU_UNSUPPORTED("cuLibraryGetUnifiedFunction");
FAKE_GPU_UNSUPPORTED("cuLogsCurrent");
FAKE_GPU_UNSUPPORTED("cuLogsDumpToFile");
FAKE_GPU_UNSUPPORTED("cuLogsDumpToMemory");
FAKE_GPU_UNSUPPORTED("cuLogsRegisterCallback");
FAKE_GPU_UNSUPPORTED("cuLogsUnregisterCallback");
FAKE_GPU_UNSUPPORTED("cuMemBatchDecompressAsync");
FAKE_GPU_UNSUPPORTED("cuMemBatchDecompressAsync_ptsz");
FAKE_GPU_UNSUPPORTED("cuMemDiscardAndPrefetchBatchAsync");
FAKE_GPU_UNSUPPORTED("cuMemDiscardAndPrefetchBatchAsync_ptsz");
FAKE_GPU_UNSUPPORTED("cuMemDiscardBatchAsync");
FAKE_GPU_UNSUPPORTED("cuMemDiscardBatchAsync_ptsz");
FAKE_GPU_UNSUPPORTED("cuMemPrefetchBatchAsync");
FAKE_GPU_UNSUPPORTED("cuMemPrefetchBatchAsync_ptsz");
FAKE_GPU_UNSUPPORTED("cuMemcpy3DBatchAsync");
FAKE_GPU_UNSUPPORTED("cuMemcpy3DBatchAsync_ptsz");
FAKE_GPU_UNSUPPORTED("cuMemcpy3DBatchAsync_v2");
FAKE_GPU_UNSUPPORTED("cuMemcpy3DBatchAsync_v2_ptsz");
FAKE_GPU_UNSUPPORTED("cuProfilerInitialize");
FAKE_GPU_UNSUPPORTED("cuTensorMapEncodeIm2colWide");
