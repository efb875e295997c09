/* SPDX-License-Identifier: Apache-2.0 */
/* A shared library in which nothing is. */
extern int stemtap_test_empty_library;
int stemtap_test_empty_library = 1;
