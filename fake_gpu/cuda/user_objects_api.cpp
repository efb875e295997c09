// SPDX-License-Identifier: Apache-2.0
//
// User objects: cuUserObject*, cuGraphRetainUserObject, cuGraphReleaseUserObject. The last release
// destroys the object on the calling thread.
#include "cuda/graph_objects.h"
#include "cuda/state.h"

namespace fake_gpu {

UserObjects::UserObjects(const UserObjects& other) : counts_(other.counts_) {
  for (const auto& [object, count] : counts_) Retain(object, count);
}

UserObjects::~UserObjects() {
  for (const auto& [object, count] : counts_) Release(object, count);
}

void UserObjects::Adopt(CUuserObject object, unsigned count) {
  counts_[object] += count;
}

bool UserObjects::Drop(CUuserObject object, unsigned count) {
  const auto found = counts_.find(object);
  if (found == counts_.end() || found->second < count) return false;
  found->second -= count;
  if (found->second == 0) counts_.erase(found);
  Release(object, count);
  return true;
}

void UserObjects::Retain(CUuserObject object, unsigned count) {
  object->references.fetch_add(count, std::memory_order_relaxed);
}

void UserObjects::Release(CUuserObject object, unsigned count) {
  // Acquire and release: the last holder sees what earlier holders did to the object.
  if (object->references.fetch_sub(count, std::memory_order_acq_rel) != count) return;
  object->destroy(object->argument);
  delete object;
}

}  // namespace fake_gpu

using namespace fake_gpu;

FAKE_GPU_EXPORT CUresult cuUserObjectCreate(CUuserObject* out, void* argument, CUhostFn destroy,
                                            unsigned references, unsigned) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && destroy != nullptr && references != 0,
                   CUDA_ERROR_INVALID_VALUE);
  *out = new CUuserObject_st;
  (*out)->references = references;
  (*out)->destroy = destroy;
  (*out)->argument = argument;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuUserObjectRetain(CUuserObject object, unsigned count) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(object != nullptr && count != 0, CUDA_ERROR_INVALID_VALUE);
  UserObjects::Retain(object, count);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuUserObjectRelease(CUuserObject object, unsigned count) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(object != nullptr && count != 0, CUDA_ERROR_INVALID_VALUE);
  UserObjects::Release(object, count);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count,
                                                 unsigned flags) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(graph != nullptr && object != nullptr && count != 0, CUDA_ERROR_INVALID_VALUE);
  if ((flags & CU_GRAPH_USER_OBJECT_MOVE) == 0) UserObjects::Retain(object, count);
  graph->user_objects.Adopt(object, count);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object,
                                                  unsigned count) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(graph != nullptr && object != nullptr, CUDA_ERROR_INVALID_VALUE);
  return graph->user_objects.Drop(object, count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
