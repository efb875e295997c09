// SPDX-License-Identifier: Apache-2.0
#include "ui/report/page.h"

#ifdef STEMTAP_HAVE_REPORT_PAGE
// Defined in page_bytes.S.
extern "C" {
extern const char stemtap_report_page_begin[] __attribute__((visibility("hidden")));
extern const char stemtap_report_page_end[] __attribute__((visibility("hidden")));
}
#endif

namespace stemtap::ui {

std::string_view ReportPage() {
#ifdef STEMTAP_HAVE_REPORT_PAGE
  return {stemtap_report_page_begin, stemtap_report_page_end};
#else
  return {};
#endif
}

}  // namespace stemtap::ui
