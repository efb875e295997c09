// SPDX-License-Identifier: Apache-2.0
#include "importers/stem_columns_csv.h"

#include <doctest/doctest.h>
