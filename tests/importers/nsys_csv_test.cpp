// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys_csv.h"

#include <doctest/doctest.h>
