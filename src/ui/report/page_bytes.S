// SPDX-License-Identifier: Apache-2.0
//
// The built page as it is. A C array of its million bytes would take the compiler seconds.
  .section .rodata.stemtap_report_page, "a"
  .globl stemtap_report_page_begin
  .globl stemtap_report_page_end
  .hidden stemtap_report_page_begin
  .hidden stemtap_report_page_end
stemtap_report_page_begin:
  .incbin STEMTAP_REPORT_PAGE
stemtap_report_page_end:
  .byte 0
  // Without this the program's stack would be executable.
  .section .note.GNU-stack, "", %progbits
