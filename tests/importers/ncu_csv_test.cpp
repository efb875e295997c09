// SPDX-License-Identifier: Apache-2.0
#include "importers/ncu_csv.h"

#include <doctest/doctest.h>
