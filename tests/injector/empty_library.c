/* SPDX-License-Identifier: Apache-2.0 */
/* An empty shared library. */
extern int stemtap_test_empty_library;
int stemtap_test_empty_library = 1;
