// SPDX-License-Identifier: Apache-2.0
#include "cuda/modules.h"

#include <cupti.h>

#include "cuda/engine.h"
#include "cuda/memory.h"
#include "cuda/settings.h"
#include "cuda/state.h"
#include "cuda/truth.h"

namespace fake_gpu {
namespace {

constexpr std::size_t kGlobalBytes = std::size_t{1} << 20;
constexpr int kMaxDynamicShared = 227 * 1024;
constexpr int kDefaultDynamicShared = 48 * 1024;

void SetDefaults(CUfunc_st& function) {
  auto& values = function.attributes;
  values[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024;
  values[CU_FUNC_ATTRIBUTE_NUM_REGS] = static_cast<int>(function.registers);
  values[CU_FUNC_ATTRIBUTE_PTX_VERSION] = settings().capability;
  values[CU_FUNC_ATTRIBUTE_BINARY_VERSION] = settings().capability;
  values[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = kDefaultDynamicShared;
  values[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = CU_SHAREDMEM_CARVEOUT_DEFAULT;
}

}  // namespace

std::unique_ptr<CUmod_st> NewModule(CUctx_st& context, bool uses_duration_model) {
  static std::atomic<std::uint32_t> next_id{1};
  auto module = std::make_unique<CUmod_st>();
  module->context = &context;
  module->uses_duration_model = uses_duration_model;
  module->id = next_id.fetch_add(1, std::memory_order_relaxed);
  RegisterForTruth(*module);
  TellResource(CUPTI_CBID_RESOURCE_MODULE_LOADED, &context, nullptr, module->id);
  return module;
}

void RetireModule(CUmod_st& module) {
  TellResource(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, module.context, nullptr, module.id);
  RetireForTruth(module);
  for (const auto& [name, address] : module.globals) Free(static_cast<std::uintptr_t>(address));
}

CUfunc_st* FunctionOf(CUmod_st& module, const char* name) {
  const std::lock_guard lock(module.mutex);
  auto found = module.functions.find(name);
  if (found == module.functions.end()) {
    const std::string_view kept = module.names.Add(name);
    auto function = std::make_unique<CUfunc_st>();
    function->module = &module;
    function->name = kept.data();
    if (module.uses_duration_model) function->model.emplace(kept);
    function->registers = 16 + static_cast<std::uint32_t>(kept.size() % 48);
    SetDefaults(*function);
    found = module.functions.emplace(kept, std::move(function)).first;
  }
  return found->second.get();
}

CUresult GlobalOf(CUmod_st& module, const char* name, CUdeviceptr* address, std::size_t* bytes) {
  if (!module.uses_duration_model) return CUDA_ERROR_NOT_FOUND;
  const std::lock_guard lock(module.mutex);
  CUdeviceptr& known = module.globals[name];
  if (known == 0) {
    Allocation wanted;
    wanted.bytes = kGlobalBytes;
    wanted.kind = MemoryKind::kGlobal;
    wanted.context = module.context;
    wanted.device = module.context->device;
    const CUresult result = Allocate(wanted, reinterpret_cast<void**>(&known));
    if (result != CUDA_SUCCESS) return result;
  }
  if (address != nullptr) *address = known;
  if (bytes != nullptr) *bytes = kGlobalBytes;
  return CUDA_SUCCESS;
}

CUresult GetAttribute(const CUfunc_st& function, CUfunction_attribute attribute, int* out) {
  FAKE_GPU_REQUIRE(out != nullptr && attribute >= 0 && attribute < CU_FUNC_ATTRIBUTE_MAX,
                   CUDA_ERROR_INVALID_VALUE);
  *out = function.attributes[static_cast<std::size_t>(attribute)].load(std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

CUresult SetAttribute(CUfunc_st& function, CUfunction_attribute attribute, int value) {
  FAKE_GPU_REQUIRE(attribute >= CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
                       attribute < CU_FUNC_ATTRIBUTE_MAX,
                   CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
                       (value >= 0 && value <= kMaxDynamicShared),
                   CUDA_ERROR_INVALID_VALUE);
  function.attributes[static_cast<std::size_t>(attribute)].store(value, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

}  // namespace fake_gpu
