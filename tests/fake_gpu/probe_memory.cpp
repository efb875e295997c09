// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of memory: allocation, attributes of addresses, copies, pools and virtual memory.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>

#include "probe.h"

namespace probe {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;

char* Bytes(CUdeviceptr address) {
  return reinterpret_cast<char*>(address);
}

std::size_t FreeBytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  Check(cuMemGetInfo(&free, &total), "cuMemGetInfo");
  return free;
}

// Allocates more memory than the machine has, and more than the device has.
void Allocations() {
  const Gpu gpu;
  const std::size_t before = FreeBytes();
  CUdeviceptr large;
  CUdeviceptr other;
  Check(cuMemAlloc(&large, 60 * kGiB), "cuMemAlloc");
  Print("first_is_zero", Bytes(large)[0] == 0);
  Print("last_is_zero", Bytes(large)[60 * kGiB - 1] == 0);
  Print("used_gib", (before - FreeBytes()) / kGiB);
  Print("too_large", cuMemAlloc(&other, 30 * kGiB));
  Check(cuMemFree(large), "cuMemFree");
  Print("used_after", before - FreeBytes());
  Print("freed_again", cuMemFree(large));
  bool zero = true;
  for (int i = 0; i < 100; ++i) {
    Check(cuMemAlloc(&other, 1000), "cuMemAlloc");
    zero &= std::all_of(Bytes(other), Bytes(other) + 1000, [](char c) { return c == 0; });
    std::memset(Bytes(other), 1, 1000);
    Check(cuMemFree(other), "cuMemFree");
  }
  Print("reused_is_zero", zero);
  std::size_t pitch = 0;
  Check(cuMemAllocPitch(&other, &pitch, 1000, 10, 4), "cuMemAllocPitch");
  Print("pitch", pitch);
}

// Prints the attributes of one address: memory type, managed, host address, range, offset.
void PrintAttributes(const char* name, CUdeviceptr address) {
  unsigned type = 99;
  unsigned managed = 99;
  CUdeviceptr base = 99;
  std::size_t bytes = 99;
  CUpointer_attribute attributes[] = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* values[] = {&type, &managed, &base, &bytes};
  Check(cuPointerGetAttributes(4, attributes, values, address), "cuPointerGetAttributes");
  unsigned one = 0;
  CUdeviceptr host = 0;
  Print(
      name,
      std::to_string(type) + " " + std::to_string(managed) + " " +
          std::to_string(base == 0 ? 0 : address - base) + " " + std::to_string(bytes) + " " +
          std::to_string(cuPointerGetAttribute(&one, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)) +
          " " +
          std::to_string(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address)));
}

void Pointers() {
  const Gpu gpu;
  CUdeviceptr device;
  CUdeviceptr managed;
  void* pinned;
  static char registered[8192];
  static char unknown[16];
  Check(cuMemAlloc(&device, 1000), "cuMemAlloc");
  Check(cuMemAllocManaged(&managed, 2000, CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged");
  Check(cuMemHostAlloc(&pinned, 3000, 0), "cuMemHostAlloc");
  Check(cuMemHostRegister(registered, sizeof registered, 0), "cuMemHostRegister");
  Print("registered_again", cuMemHostRegister(registered, sizeof registered, 0));
  PrintAttributes("device", device + 10);
  PrintAttributes("managed", managed);
  PrintAttributes("pinned", reinterpret_cast<CUdeviceptr>(pinned));
  PrintAttributes("registered", reinterpret_cast<CUdeviceptr>(registered) + 1);
  PrintAttributes("unknown", reinterpret_cast<CUdeviceptr>(unknown));
  Check(cuMemHostUnregister(registered), "cuMemHostUnregister");
  PrintAttributes("unregistered", reinterpret_cast<CUdeviceptr>(registered));
  Print("unregistered_again", cuMemHostUnregister(registered));
}

// Copies a rectangle through the device, and fills one.
void Copies() {
  Gpu gpu;
  std::array<char, 64> in;
  std::array<char, 64> out = {};
  std::iota(in.begin(), in.end(), '\0');
  CUdeviceptr device;
  std::size_t pitch;
  Check(cuMemAllocPitch(&device, &pitch, 8, 4, 4), "cuMemAllocPitch");
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = in.data();
  copy.srcPitch = 16;
  copy.srcXInBytes = 2;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.dstPitch = pitch;
  copy.WidthInBytes = 8;
  copy.Height = 4;
  Check(cuMemcpy2DAsync(&copy, gpu.stream(0)), "cuMemcpy2DAsync");
  Check(cuMemsetD2D16Async(device, pitch, 0x6261, 1, 2, gpu.stream(0)), "cuMemsetD2D16Async");
  CUDA_MEMCPY2D back = {};
  back.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  back.srcDevice = device;
  back.srcPitch = pitch;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = out.data();
  back.dstPitch = 16;
  back.WidthInBytes = 8;
  back.Height = 4;
  Check(cuStreamSynchronize(gpu.stream(0)), "cuStreamSynchronize");
  Check(cuMemcpy2D(&back), "cuMemcpy2D");
  Print("copied", out[2] == in[4] && out[16 * 3] == in[16 * 3 + 2] && out[16 * 3 + 8] == 0);
  Print("filled", out[0] == 'a' && out[1] == 'b' && out[16] == 'a' && out[32] == in[34]);
  back.dstPitch = 4;
  Print("bad_pitch", cuMemcpy2D(&back));
}

// Prints how far copies of 1 MB and 100 MB advance the host clock.
void CopyTimes() {
  Gpu gpu;
  CUdeviceptr device;
  void* host;
  Check(cuMemAlloc(&device, 200'000'000), "cuMemAlloc");
  Check(cuMemHostAlloc(&host, 1'000'000, 0), "cuMemHostAlloc");
  const auto time = [](const char* key, const std::function<CUresult()>& call) {
    const std::uint64_t before = fakeGpuNow();
    Check(call(), key);
    Print(key, fakeGpuNow() - before);
  };
  time("to_device_ns", [&] { return cuMemcpyHtoD(device, host, 1'000'000); });
  time("on_device_ns", [&] { return cuMemcpyDtoD(device, device + 100'000'000, 100'000'000); });
  time("fill_ns", [&] { return cuMemsetD8(device, 0, 100'000'000); });
  time("asynchronous_ns",
       [&] { return cuMemcpyDtoDAsync(device, device + 100'000'000, 100'000'000, gpu.stream(0)); });
  time("waiting_ns", [&] { return cuStreamSynchronize(gpu.stream(0)); });
}

void Pools() {
  Gpu gpu;
  CUmemoryPool pool;
  CUdeviceptr a;
  CUdeviceptr b;
  cuuint64_t threshold = 12345;
  cuuint64_t used = 0;
  Check(cuDeviceGetDefaultMemPool(&pool, 0), "cuDeviceGetDefaultMemPool");
  Check(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold), "Set");
  threshold = 0;
  Check(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold), "Get");
  Print("threshold", threshold);
  Check(cuMemAllocAsync(&a, 1000, gpu.stream(0)), "cuMemAllocAsync");
  Check(cuMemAllocFromPoolAsync(&b, 2000, pool, gpu.stream(0)), "cuMemAllocFromPoolAsync");
  Check(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used), "Get");
  Print("used", used);
  Check(cuMemFreeAsync(a, gpu.stream(0)), "cuMemFreeAsync");
  Check(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used), "Get");
  Print("used_later", used);
  Check(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &used), "Get");
  Print("high", used);
}

// Maps the same memory at two addresses.
void VirtualMemory() {
  const Gpu gpu;
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  std::size_t granularity = 0;
  Check(cuMemGetAllocationGranularity(&granularity, &properties,
                                      CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
        "cuMemGetAllocationGranularity");
  CUdeviceptr range;
  CUmemGenericAllocationHandle handle;
  const std::size_t before = FreeBytes();
  Check(cuMemAddressReserve(&range, 16 * kGiB, 0, 0, 0), "cuMemAddressReserve");
  Check(cuMemCreate(&handle, granularity, &properties, 0), "cuMemCreate");
  Print("used", before - FreeBytes() == granularity);
  Check(cuMemMap(range, granularity, 0, handle, 0), "cuMemMap");
  Check(cuMemMap(range + granularity, granularity, 0, handle, 0), "cuMemMap");
  Check(cuMemRelease(handle), "cuMemRelease");
  Print("mapped_twice", cuMemMap(range, granularity, 0, handle, 0));
  CUmemAccessDesc access = {};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  Check(cuMemSetAccess(range, 2 * granularity, &access, 1), "cuMemSetAccess");
  Check(cuMemsetD8(range, 7, 100), "cuMemsetD8");
  char out = 0;
  Check(cuMemcpyDtoH(&out, range + granularity + 99, 1), "cuMemcpyDtoH");
  Print("shared", static_cast<std::uint64_t>(out));
  PrintAttributes("attributes", range + granularity + 5);
  Check(cuMemUnmap(range, 2 * granularity), "cuMemUnmap");
  Print("used_after", before - FreeBytes());
  Check(cuMemAddressFree(range, 16 * kGiB), "cuMemAddressFree");
}

}  // namespace

int RunMemory(const std::string& scenario) {
  const std::map<std::string, std::function<void()>> scenarios = {
      {"allocations", Allocations}, {"pointers", Pointers}, {"copies", Copies},
      {"copy_times", CopyTimes},    {"pools", Pools},       {"virtual_memory", VirtualMemory}};
  const auto found = scenarios.find(scenario);
  if (found == scenarios.end()) return -1;
  found->second();
  return 0;
}

}  // namespace probe
