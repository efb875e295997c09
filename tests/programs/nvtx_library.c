/* SPDX-License-Identifier: Apache-2.0 */
/* A shared library that uses NVTX. Each copy of its file has its own NVTX state. */
#include <nvtx3/nvToolsExt.h>
#include <string.h>

void* CreateDomain(const char* name);
void* RegisterString(void* domain, const char* text);
int Push(void* domain, void* string);
int Pop(void* domain);

void* CreateDomain(const char* name) {
  return nvtxDomainCreateA(name);
}

void* RegisterString(void* domain, const char* text) {
  return nvtxDomainRegisterStringA(domain, text);
}

int Push(void* domain, void* string) {
  nvtxEventAttributes_t event;
  memset(&event, 0, sizeof event);
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = string;
  return nvtxDomainRangePushEx(domain, &event);
}

int Pop(void* domain) {
  return nvtxDomainRangePop(domain);
}
