// SPDX-License-Identifier: Apache-2.0
#include "importers/nvprof_csv.h"

#include <doctest/doctest.h>
