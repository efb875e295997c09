// SPDX-License-Identifier: Apache-2.0
#include "importers/rocprof_csv.h"

#include <doctest/doctest.h>
